"""A trained classifier or tagger: labels of texts, their probabilities and scores, and where the model looked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from saccade import config, files, model_folder, names
from saccade.data import TextPair
from saccade.data.batching import batch_by_length
from saccade.decode.batch_sizes import CHUNK
from saccade.decode.loading import CARD, limit_resources, set_weights
from saccade.device import find_device
from saccade.errors import UserError
from saccade.labels.dataset import labels_of, read_examples
from saccade.labels.label_ids import TextEncoder
from saccade.labels.networks import NETWORKS, LabelNetwork, build_network
from saccade.labels.predictions import HopAttention, LabelledText, TaggedText
from saccade.labels.scores import LabelScores, are_entities, measure_accuracy, score_classes, score_entities
from saccade.labels.settings import LabelConfig
from saccade.model_folder import ModelConfig, StoredModel
from saccade.ranges import Length
from saccade.text import PAD, Tokeniser, words
from saccade.train.request import LabelKind

_BATCH_TOKENS = 8192


class LabelModel:
    """The network is in evaluation mode only during a call, so that one that is being trained can be shared."""

    def __init__(
        self,
        network: LabelNetwork,
        encoder: TextEncoder,
        labels: Sequence[str],
        *,
        longest: int,
        device: str | torch.device = "auto",
    ) -> None:
        self.device = find_device(device)
        self.network, self.encoder = network.to(self.device), encoder
        self.labels, self.longest = tuple(labels), longest

    @property
    def kind(self) -> LabelKind:
        return self.encoder.kind

    @property
    def has_entities(self) -> bool:
        return self.kind == "tag" and are_entities(self.labels)

    def predict(self, texts: Iterable[str]) -> list[LabelledText] | list[TaggedText]:
        """The label of each text or, by a tagger, the tag of each word; words are separated by spaces."""
        listed = _listed(texts)
        return self._classify(listed) if self.kind == "classify" else self._tag(listed)

    def predict_all(self, texts: Iterable[str]) -> Iterator[LabelledText | TaggedText]:
        """The same for a stream of texts, some of which are read ahead."""
        rest = iter(texts)
        while chunk := list(islice(rest, CHUNK)):
            yield from self.predict(chunk)

    def labels_of(self, texts: Sequence[str]) -> list[list[str]]:
        """The label of each text, or the tags of its words."""
        return [[text.label] if isinstance(text, LabelledText) else [*text.tags] for text in self.predict(texts)]

    def evaluate(self, examples: str | Path | Sequence[tuple[str, str]]) -> LabelScores:
        """Compare with the labels of a file, of a task's test split, or of pairs (text, label)."""
        if isinstance(examples, str | Path):
            pairs: Sequence[TextPair] = read_examples(self.kind, str(examples)).pairs
        else:
            pairs = [TextPair(*pair) for pair in examples]
        wanted, predicted = self._compare(pairs)
        if self.has_entities:
            return score_entities(wanted, predicted)
        return score_classes(*([label for row in rows for label in row] for rows in (wanted, predicted)))

    def accuracy(self, pairs: Sequence[TextPair]) -> float:
        """The share of the labels, or of all words' tags, that are right, in percent."""
        return measure_accuracy(*([label for row in rows for label in row] for rows in self._compare(pairs)))

    def attend(self, text: str, *, pieces: bool = False) -> HopAttention:
        """What each hop of a classifier reads of a text: the weights of its words or, with `pieces`, of its tokens."""
        if self.kind == "tag":
            raise UserError("a tagger reads each word by itself, without hops; a classifier shows its attention")
        ids = self.encoder.encode(text)[0][: self.longest]
        if not text.strip():
            raise UserError("the text is empty; expected at least one word")
        (row,) = self._run([ids], weights=True)
        if row.weights is None:
            raise UserError(f"the reader {self.network.config.reader!r} has no attention; lin2017 has")
        label = self.labels[int(row.logits.argmax())]
        tokeniser, weights = self.encoder.tokeniser, row.weights.astype(np.float64)
        if pieces:
            return HopAttention(text, tuple(tokeniser.tokens(ids)), weights, label)
        return HopAttention(text, *_by_words(tokeniser, text, weights), label)

    def save(self, folder: Path, *, extra: Mapping[str, Any], card: str) -> None:
        """Write a model folder: all files, or none."""
        with files.atomic_folder(folder) as new:
            self.encoder.tokeniser.save(new)
            described = ModelConfig(
                model=self.network.name,
                config=config.to_dict(self.network.config),
                vocabularies={path.name: files.sha256(path.read_bytes()) for path in sorted(new.iterdir())},
                extra={"labels": list(self.labels), "longest": self.longest, **extra},
            )
            model_folder.save_model(new, self.network.state_dict(), described)
            (new / CARD).write_text(card, encoding="utf-8")

    def _compare(self, pairs: Sequence[TextPair]) -> tuple[list[list[str]], list[list[str]]]:
        return [labels_of(self.kind, pair) for pair in pairs], self.labels_of([pair.source for pair in pairs])

    def _classify(self, texts: Sequence[str]) -> list[LabelledText]:
        rows = self._run([self.encoder.encode(text)[0][: self.longest] for text in texts])
        labelled = []
        for text, row in zip(texts, rows, strict=True):
            probabilities = _softmax(row.logits)
            order = np.argsort(-probabilities, kind="stable").tolist()
            by_label = {self.labels[place]: float(probabilities[place]) for place in order}
            labelled.append(LabelledText(text, self.labels[order[0]], by_label))
        return labelled

    def _tag(self, texts: Sequence[str]) -> list[TaggedText]:
        encoded = [self.encoder.encode(text) for text in texts]
        tagged = []
        for text, (_, starts), row in zip(texts, encoded, self._run([ids for ids, _ in encoded]), strict=True):
            probabilities = _softmax(row.logits[starts])
            best = probabilities.argmax(-1)
            tags = tuple(self.labels[place] for place in best.tolist())
            of_tags = tuple(probabilities[np.arange(len(best)), best].tolist())
            tagged.append(TaggedText(tuple(text.split()), tags, of_tags))
        return tagged

    def _run(self, rows: Sequence[Sequence[int]], *, weights: bool = False) -> list["_Row"]:
        """In batches of similar lengths, whose results do not depend on one another."""
        results: dict[int, _Row] = {}
        with _evaluating(self.network), torch.inference_mode():
            for places in batch_by_length([len(row) + 1 for row in rows], _BATCH_TOKENS):
                lengths = [len(rows[place]) for place in places]
                labelling = self.network(*self._pad([rows[place] for place in places]))
                logits = labelling.logits.float().cpu().numpy()
                shown = None if not weights or labelling.weights is None else labelling.weights.float().cpu().numpy()
                for number, (place, length) in enumerate(zip(places, lengths, strict=True)):
                    of_text = None if shown is None else shown[number, :, :length]
                    results[place] = _Row(logits[number], of_text)
        return [results[place] for place in range(len(rows))]

    def _pad(self, rows: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        longest = max(1, *map(len, rows)) if len(rows) > 1 else max(1, len(rows[0]))
        ids = torch.full((len(rows), longest), PAD)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.tensor(row, dtype=torch.long)
        ids = ids.to(self.device)
        return ids, ids != PAD


@dataclass(frozen=True)
class _Row:
    logits: NDArray[np.float32]  # (labels,), or (S, labels)
    weights: NDArray[np.float32] | None  # (hops, S)


@contextmanager
def _evaluating(network: LabelNetwork) -> Iterator[None]:
    was_training = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(was_training)


def _listed(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise UserError("one text was given; expected a list of texts: predict([text])")
    return [*texts]


def _softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    shifted = np.exp(logits.astype(np.float64) - logits.max(-1, keepdims=True, initial=-np.inf))
    probabilities: NDArray[np.float64] = shifted / shifted.sum(-1, keepdims=True)
    return probabilities


def _by_words(
    tokeniser: Tokeniser, text: str, weights: NDArray[np.float64]
) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The weight of a word is that of its tokens. Several words share a token; a space belongs to the word after it."""
    _, ranges, normalised = tokeniser.encode_with_spans(text)
    listed = words(normalised)
    by_word = np.zeros((len(weights), len(listed)))
    for place, (first, end) in enumerate(ranges[: weights.shape[1]]):
        end = min(max(end, first + 1), len(listed))
        if first < end:
            by_word[:, first:end] += weights[:, place, None] / (end - first)
    return tuple(listed), by_word


@dataclass(frozen=True, kw_only=True)
class _StoredLabels:
    labels: tuple[str, ...]
    longest: Length


def load(folder: str | Path, *, device: str = "auto", trust_code: bool = False) -> LabelModel:
    """The classifier or tagger of a folder that `saccade train --kind classify|tag` wrote.

    The folder may come from anywhere: nothing in it is changed, and no code in it or named by it is run. An attention
    or an encoder of your own, as `my_module:factory`, is imported only with `trust_code=True`.
    """
    with names.trusting_code(trust_code):
        return model_folder.open_model(Path(folder), lambda stored: _of_folder(stored, device))


def _of_folder(stored: StoredModel, device: str) -> LabelModel:
    folder, described = stored.folder, stored.config
    kind: LabelKind | None = next((kind for kind, network in NETWORKS.items() if network.name == described.model), None)
    if kind is None:
        raise UserError(
            f"{folder}: a {described.model} model, which gives no labels; `saccade train --kind classify` makes one "
            "that does"
        )
    where = str(folder / "config.json")
    settings = config.from_dict(LabelConfig, described.config, where=where, at="config")
    known: dict[str, Any] = {key: value for key, value in described.extra.items() if key in ("labels", "longest")}
    extra = config.from_dict(_StoredLabels, known, where=where, at="extra")
    if len(set(extra.labels)) != len(extra.labels) or len(extra.labels) < 2:
        raise UserError(
            f"{where}: extra.labels: expected at least 2 labels, all different; copy the whole folder again"
        )
    tokeniser = Tokeniser.from_files(stored.vocabularies, folder)
    trusted = any(names.outside({"config": described.config}))
    with torch.random.fork_rng(devices=[]), limit_resources(stored, trusted=trusted):
        network = build_network(kind, settings, len(tokeniser), len(extra.labels))
    set_weights(network, stored.tensors(), folder)
    encoder = TextEncoder(kind, tokeniser, extra.labels)
    return LabelModel(network.eval(), encoder, extra.labels, longest=extra.longest, device=device)
