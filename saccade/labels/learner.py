"""A classifier or a tagger as a learner of the training loop: cross-entropy, and a penalty where the reader has one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.labels.dataset import load_dataset
from saccade.labels.label_batches import IGNORED, LabelBatch, LabelBatches
from saccade.labels.label_model import LabelModel
from saccade.labels.networks import LabelNetwork, build_network
from saccade.labels.recipe import model_title
from saccade.labels.settings import LabelRecipe
from saccade.train.consistency import hide_tokens
from saccade.train.distributed import Workers
from saccade.train.learner import DataDigest, Judge, Learner, TrainingState, Validation
from saccade.train.resources import build_within_memory
from saccade.train.training_options import Training

JUDGES = {
    "accuracy": Judge("accuracy", "accuracy"),
    "f1": Judge("f1", "F1"),
    "loss": Judge("loss", "loss", higher_is_better=False),
}


class LabelLearner(Learner[LabelBatch]):
    unit = "text"
    is_likelihood = False
    usage = 'import saccade\nsaccade.labels.load("this folder").predict(["..."])'

    model: LabelNetwork
    batches: LabelBatches

    def __init__(self, recipe: LabelRecipe, training: Training) -> None:
        self.recipe, self.training = recipe, training
        data, config = recipe.data, recipe.model
        self.dataset = dataset = load_dataset(data, training.seed)
        self.name, self.notes, self.judge = model_title(recipe), dataset.notes, JUDGES[training.judge]
        sizes = len(dataset.encoder.tokeniser), len(dataset.labels)
        self.model = build_within_memory(lambda: build_network(data.kind, config, *sizes))
        self.title = f"{self.name} on {data.pairs}"
        self.about = f"A {self.model.name} of {len(dataset.labels)} labels."
        self.data = {
            "texts": DataDigest(data.pairs, dataset.train_digest),
            "validation texts": DataDigest(data.valid or data.pairs, dataset.valid_digest),
        }
        self.epoch_tokens = dataset.train.tokens
        self.set_batch_tokens(training.batch_tokens)

    def set_batch_tokens(self, tokens: int) -> None:
        self.batches = LabelBatches(self.dataset.train, self.recipe.data.kind, tokens=tokens, seed=self.training.seed)

    def describe_batches(self) -> str | None:
        return str(self.batches)

    def loss(self, model: nn.Module, batch: LabelBatch, state: TrainingState) -> tuple[Tensor, Tensor]:
        ids = hide_tokens(batch.ids, self.training.word_dropout) if self.training.word_dropout else batch.ids
        logits, _, penalty = model(ids, batch.readable)
        plain = _cross_entropy(logits, batch.labels, 0.0)
        loss = _cross_entropy(logits, batch.labels, self.training.smoothing) if self.training.smoothing else plain
        if penalty is not None and self.recipe.model.penalty:
            loss = loss + self.recipe.model.penalty * penalty.float().sum()
        return loss, plain.detach()

    def predictor(self, model: nn.Module) -> LabelModel:
        assert isinstance(model, LabelNetwork)
        dataset, device = self.dataset, next(model.parameters()).device
        longest = self.recipe.data.longest
        return LabelModel(model, dataset.encoder, dataset.labels, longest=longest, device=device)

    def validate(self, model: nn.Module, workers: Workers) -> Validation:
        predictor, pairs = self.predictor(model), self.dataset.valid_pairs
        scores = {"loss": self._loss_per_label(model, predictor.device), "accuracy": predictor.accuracy(pairs)}
        if self.training.judge == "f1":
            scores["f1"] = predictor.evaluate(pairs).f1
        (first,) = predictor.predict([pairs[0].source])
        return Validation(scores=scores, sample=f"{first.text} → {first.label}")

    def _loss_per_label(self, model: nn.Module, device: torch.device) -> float:
        was_training = model.training
        model.eval()
        batches = LabelBatches(self.dataset.valid, self.recipe.data.kind, tokens=self.training.batch_tokens, seed=1)
        total, labels = 0.0, 0
        with torch.inference_mode():
            for batch in batches:
                moved = batch.to(device)
                total += float(_cross_entropy(model(moved.ids, moved.readable).logits, moved.labels, 0.0))
                labels += batch.tokens
        model.train(was_training)
        return total / max(1, labels)

    def save(self, folder: Path, model: nn.Module, *, best: Mapping[str, Any], card: str) -> None:
        self.predictor(model).save(folder, extra={"best": dict(best)}, card=card)


def _cross_entropy(logits: Tensor, labels: Tensor, smoothing: float) -> Tensor:
    """Summed over the labels"""
    flat = logits.float().flatten(0, -2), labels.flatten()
    return F.cross_entropy(*flat, ignore_index=IGNORED, label_smoothing=smoothing, reduction="sum")
