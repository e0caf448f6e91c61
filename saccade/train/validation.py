"""How good a model is, during training."""

import math
from dataclasses import dataclass
from itertools import islice

import torch

from saccade.data.batching import Batch, Batches
from saccade.decode.search.options import Search
from saccade.decode.translator import Translator
from saccade.device import run_in_halves
from saccade.evaluation import score
from saccade.train.dataset import Dataset
from saccade.train.distributed import Workers
from saccade.train.losses import Objective, batch_loss
from saccade.train.recipe import Training


@dataclass(frozen=True, kw_only=True)
class Validation:
    loss: float  # a token, without smoothing
    perplexity: float
    bleu: float | None  # of greedy translations of the first sentences; none where only the loss is judged
    chrf: float | None
    exact: float | None


def validate(
    translator: Translator, dataset: Dataset, training: Training, workers: Workers | None = None
) -> Validation:
    """Shared out among the workers; all know the result."""
    workers = workers or Workers()
    model, device = translator.model, translator.device
    was_training = model.training
    model.eval()

    def loss_of(batch: Batch) -> float:
        return float(batch_loss(model, batch.to(device), Objective())[0])

    total, tokens = 0.0, 0
    size = max(1, training.batch_tokens // workers.count)
    with torch.inference_mode():
        for batch in islice(Batches(dataset.valid_corpus, tokens=size, seed=1), workers.rank, None, workers.count):
            total += sum(loss for _, loss in run_in_halves(batch, loss_of, _halves, device))
            tokens += int(batch.target_readable.sum())
    model.train(was_training)
    totals, counts = zip(*workers.gather((total, tokens)), strict=True)
    loss = sum(totals) / sum(counts)
    bleu = chrf = exact = None
    if training.judge == "bleu":
        some = dataset.valid[: training.judge_on]
        found = translator.translate([pair.source for pair in workers.share(some)], Search())
        shares = workers.gather([one.text for one in found])
        texts = [shares[place % workers.count][place // workers.count] for place in range(len(some))]
        scores = score(texts, [pair.target for pair in some])
        bleu, chrf, exact = scores.bleu, scores.chrf, scores.exact
    return Validation(loss=loss, perplexity=math.exp(min(loss, 50)), bleu=bleu, chrf=chrf, exact=exact)


def _halves(batch: Batch) -> tuple[Batch, ...]:
    return batch.halves() if len(batch) > 1 else ()
