"""Words and their vectors: the nearest ones, and analogies. They come from a model folder or a file of word2vec."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import nn

from saccade import config, files, model_folder
from saccade.errors import UserError, plural
from saccade.model_folder import ModelConfig, StoredModel
from saccade.names import nearest
from saccade.text.word_list import NAME, format_words, parse_words
from saccade.words.formats import read_vectors, write_vectors

MODEL = "mikolov2013"
_CARD = "README.md"
_SUGGESTED_FROM = 50_000  # the most frequent words, among which near spellings are found

Matrix = NDArray[np.float32]


class Neighbour(NamedTuple):
    word: str
    similarity: float  # the cosine of the two vectors


class WordVectors:
    """`vectors["word"]` is the vector of a word. Words are in the order of their frequency, if it is known."""

    def __init__(self, words: Sequence[str], matrix: Matrix, *, name: str = "vectors", cased: bool = True) -> None:
        if len(words) != len(matrix) or matrix.ndim != 2:
            raise ValueError(f"got {len(words)} words and vectors of shape {matrix.shape}; expected one row per word")
        self.words, self.matrix, self.name, self.cased = list(words), matrix, name, cased
        self._places = {word: place for place, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return self._fold(word) in self._places

    def __getitem__(self, word: str) -> Matrix:
        vector: Matrix = self.matrix[self.place(word)]
        return vector

    def place(self, word: str) -> int:
        """The number of a word."""
        place = self._places.get(self._fold(word))
        if place is None:
            close = nearest(word, self.words[:_SUGGESTED_FROM]) if len(self) else ""
            hint = f"; {close}" if close.startswith("did") else ""
            raise UserError(f"{self.name}: the word {word!r} is not among the {plural(len(self), 'word')}{hint}")
        return place

    def similar(self, word: str, count: int = 10) -> list[Neighbour]:
        """The words whose vectors have the most similar direction."""
        return self._nearest(self.directions[self.place(word)], [word], count)

    def similarity(self, first: str, second: str) -> float:
        return float(self.directions[self.place(first)] @ self.directions[self.place(second)])

    def analogy(self, first: str, second: str, third: str, count: int = 10) -> list[Neighbour]:
        """The words that are to `third` as `second` is to `first`: near second − first + third, each with
        length 1."""
        places = [self.place(word) for word in (first, second, third)]
        minus, plus, base = self.directions[places]
        target = plus - minus + base
        return self._nearest(target / max(1e-12, float(np.linalg.norm(target))), [first, second, third], count)

    @cached_property
    def directions(self) -> Matrix:
        """The vectors with length 1; a vector of zeros stays."""
        lengths = np.linalg.norm(self.matrix, axis=1, keepdims=True)
        directions: Matrix = self.matrix / np.maximum(lengths, 1e-12)
        return directions

    def save(self, path: str | Path) -> None:
        """Write a file of word2vec: text, or binary if its name ends in .bin."""
        write_vectors(Path(path), self.words, self.matrix)

    def _nearest(self, direction: Matrix, without: Iterable[str], count: int) -> list[Neighbour]:
        scores = self.directions @ direction
        scores[[self.place(word) for word in without]] = -np.inf
        count = min(count, int(np.isfinite(scores).sum()))
        best = np.argpartition(-scores, max(0, count - 1))[:count]
        best = best[np.argsort(-scores[best], kind="stable")]
        return [Neighbour(self.words[place], float(scores[place])) for place in best]

    def _fold(self, word: str) -> str:
        return word if self.cased else word.lower()


def save(
    folder: Path,
    model: nn.Module,
    words: Sequence[str],
    counts: Iterable[int],
    *,
    best: Mapping[str, Any],
    cased: bool,
    card: str,
) -> None:
    """Write a model folder, with the words and how often each occurred."""
    content = format_words(list(words), counts=[int(count) for count in counts], cased=cased)
    settings = config.to_dict(model.config)
    described = ModelConfig(
        model=MODEL, config=settings, vocabularies={NAME: files.sha256(content)}, extra={"best": dict(best)}
    )
    with files.atomic_folder(folder) as new:
        (new / NAME).write_bytes(content)
        (new / _CARD).write_text(card, encoding="utf-8")
        model_folder.save_model(new, model.state_dict(), described)


def load(place: str | Path) -> WordVectors:
    """The vectors of a folder that `saccade words train` wrote, or of a word2vec file, text or binary."""
    path = Path(place)
    if path.is_dir():
        return model_folder.open_model(path, _of_folder)
    return WordVectors(*read_vectors(path), name=path.name)


def _of_folder(stored: StoredModel) -> WordVectors:
    folder = stored.folder
    if stored.config.model != MODEL:
        raise UserError(
            f"{folder}: a {stored.config.model} model, not word vectors; `saccade words train` makes a folder of these"
        )
    listed = parse_words(stored.vocabularies, folder)
    words, shape = listed["words"], stored.shapes().get("input.weight")
    if shape is None or len(shape) != 2 or shape[0] != len(words):
        raise UserError(f"{folder}: {len(words):,} words, but vectors of shape {shape}; copy the whole folder again")
    matrix: Matrix = stored.tensors()["input.weight"].float().numpy()
    return WordVectors(words, matrix, name=str(folder), cased=listed.get("cased") is not False)
