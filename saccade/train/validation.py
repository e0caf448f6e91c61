"""How good a model is, during training."""

import math
from dataclasses import dataclass

import torch

from saccade.data.batching import Batches
from saccade.decode.search import Search
from saccade.decode.translator import Translator
from saccade.evaluate import score
from saccade.train.material import Material
from saccade.train.recipe import Training
from saccade.train.steps import batch_loss


@dataclass(frozen=True, kw_only=True)
class Validation:
    loss: float  # a token, without smoothing
    perplexity: float
    bleu: float | None  # of greedy translations of the first sentences; none where only the loss is judged
    chrf: float | None
    exact: float | None


def validate(translator: Translator, material: Material, how: Training) -> Validation:
    model = translator.model
    training = model.training
    model.eval()
    total, tokens = 0.0, 0
    with torch.inference_mode():
        for batch in Batches(material.valid_corpus, tokens=how.tokens, seed=1):
            total += float(batch_loss(model, batch.to(translator.device), 0.0)[0])
            tokens += int(batch.target_readable.sum())
    model.train(training)
    loss = total / tokens
    bleu = chrf = exact = None
    if how.judge == "bleu":
        some = material.valid[: how.judge_on]
        found = translator.translate([pair.source for pair in some], Search())
        scores = score([one.text for one in found], [pair.target for pair in some])
        bleu, chrf, exact = scores.bleu, scores.chrf, scores.exact
    return Validation(loss=loss, perplexity=math.exp(min(loss, 50)), bleu=bleu, chrf=chrf, exact=exact)
