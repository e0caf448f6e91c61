"""How good a model is, during training."""

import math
from dataclasses import dataclass
from typing import Any

import torch

from saccade.data.batching import Batches, pad_sources
from saccade.decode.search import Search, search
from saccade.evaluate import score
from saccade.models import Seq2Seq
from saccade.train.material import Material
from saccade.train.recipe import Training
from saccade.train.steps import batch_loss, find_device


@dataclass(frozen=True, kw_only=True)
class Validation:
    loss: float  # a token, without smoothing
    perplexity: float
    bleu: float | None  # of greedy translations of the first sentences; none where only the loss is judged
    chrf: float | None
    exact: float | None


def validate(model: Seq2Seq[Any, Any], material: Material, how: Training) -> Validation:
    device = find_device(how.device)
    training = model.training
    model.eval()
    total, tokens = 0.0, 0
    with torch.inference_mode():
        for batch in Batches(material.valid_corpus, tokens=how.tokens, seed=1):
            on_device = batch.to(device)
            total += float(batch_loss(model, on_device, 0.0)[0])
            tokens += int(batch.target_readable.sum())
    loss = total / tokens
    bleu = chrf = exact = None
    if how.judge == "bleu":
        scores = score(_translations(model, material, how, device), [p.target for p in material.valid[: how.judge_on]])
        bleu, chrf, exact = scores.bleu, scores.chrf, scores.exact
    model.train(training)
    return Validation(loss=loss, perplexity=math.exp(min(loss, 50)), bleu=bleu, chrf=chrf, exact=exact)


def _translations(model: Seq2Seq[Any, Any], material: Material, how: Training, device: torch.device) -> list[str]:
    count = min(how.judge_on, len(material.valid_corpus))
    order = sorted(range(count), key=lambda i: len(material.valid_corpus.source(i)))
    texts = [""] * count
    for start in range(0, count, 64):
        chosen = order[start : start + 64]
        source, readable = pad_sources([material.valid_corpus.source(i) for i in chosen])
        for i, found in zip(chosen, search(model, source.to(device), readable.to(device), Search()), strict=True):
            texts[i] = material.vocabularies.target.decode(found[0].tokens)
    return texts
