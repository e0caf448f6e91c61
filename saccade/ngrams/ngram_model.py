"""A model of n-grams: what it says about texts, and its folder."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch

from saccade import config, files, model_folder
from saccade.errors import UserError
from saccade.model_folder import ModelConfig, StoredModel
from saccade.ngrams.arpa import write_arpa
from saccade.ngrams.chen1998 import BEGIN, END, UNKNOWN, Ids, Ngrams, NgramTable
from saccade.ngrams.scores import TextModel, TokenProbabilities
from saccade.ranges import Range
from saccade.text.word_list import NAME, format_words, parse_words
from saccade.text.words import splitter

MODEL = "chen1998"
SPECIAL = ("<s>", "</s>", "<unk>")  # by id
Unit = Literal["word", "char"]
Order = Annotated[int, Range(least=1, most=12)]
_CARD = "README.md"
_CHUNK = 4_096  # texts that are scored at a time


@dataclass(frozen=True, kw_only=True)
class NgramConfig:
    order: Order = 5
    unit: Unit = "word"
    lower: bool = False
    tokenised: bool = False


class NgramModel(TextModel):
    def __init__(self, ngrams: Ngrams, words: Sequence[str], settings: NgramConfig) -> None:
        self.ngrams, self.words, self.settings = ngrams, list(words), settings
        self._ids = {word: place for place, word in enumerate([*SPECIAL, *self.words]) if place >= len(SPECIAL)}
        self._split = text_splitter(settings)

    @property
    def lower(self) -> bool:
        return self.settings.lower

    def split(self, text: str) -> list[str]:
        """The words, or the characters, that are predicted."""
        return self._split(text)

    def encode(self, text: str) -> Ids:
        return np.array([self._ids.get(word, UNKNOWN) for word in self.split(text)], np.int64)

    def score_tokens(self, texts: Iterable[str]) -> Iterator[TokenProbabilities]:
        rest = iter(texts)
        while chunk := list(islice(rest, _CHUNK)):
            ids = [self.encode(text) for text in chunk]
            for text, each, logs in zip(chunk, ids, self.ngrams.log_probabilities(ids), strict=True):
                yield TokenProbabilities(text, logs, np.append(each == UNKNOWN, False))

    def generate(
        self, *, count: int = 5, start: str = "", temperature: float = 1.0, longest: int = 100, seed: int = 1
    ) -> Iterator[str]:
        """Draw texts word by word."""
        random = np.random.default_rng(seed)
        beginning = [BEGIN, *self.encode(start).tolist()]
        for _ in range(count):
            ids = list(beginning)
            while len(ids) <= longest:
                shares = self.ngrams.next_probabilities(ids)
                shares[UNKNOWN] = 0.0  # which has no spelling
                shares **= 1 / temperature
                word = int(random.choice(len(shares), p=shares / shares.sum()))
                if word == END:
                    break
                ids.append(word)
            written = [[*SPECIAL, *self.words][place] for place in ids[1:]]
            yield ("" if self.settings.unit == "char" else " ").join(written)

    def save_arpa(self, path: str | Path) -> None:
        """Write the format of KenLM, SRILM and others."""
        write_arpa(Path(path), self.ngrams, [*SPECIAL, *self.words])

    def save(self, folder: Path, card: str) -> None:
        content = format_words(self.words)
        tensors = {"uniform": torch.tensor([self.ngrams.uniform], dtype=torch.float64)}
        for length, table in enumerate(self.ngrams.tables, 1):
            tensors |= {f"{length}.{name}": torch.from_numpy(values) for name, values in vars(table).items()}
        described = ModelConfig(model=MODEL, config=asdict(self.settings), vocabularies={NAME: files.sha256(content)})
        with files.atomic_folder(folder) as new:
            (new / NAME).write_bytes(content)
            (new / _CARD).write_text(card, encoding="utf-8")
            model_folder.save_model(new, tensors, described)


def text_splitter(settings: NgramConfig) -> Callable[[str], list[str]]:
    if settings.unit == "word":
        return splitter(lower=settings.lower, tokenised=settings.tokenised)
    return (lambda text: list(text.lower())) if settings.lower else list


def load(folder: str | Path) -> NgramModel:
    """The model of a folder that `saccade lm train` wrote."""
    return model_folder.open_model(Path(folder), _of_folder)


def _of_folder(stored: StoredModel) -> NgramModel:
    folder = stored.folder
    if stored.config.model != MODEL:
        raise UserError(f"{folder}: a {stored.config.model} model, not n-grams; `saccade lm train` makes these")
    settings = config.from_dict(NgramConfig, stored.config.config, str(folder / "config.json"), "config")
    words = parse_words(stored.vocabularies, folder)["words"]
    tensors = {name: tensor.numpy() for name, tensor in stored.tensors().items()}
    try:
        tables = tuple(
            NgramTable(*(tensors[f"{length}.{name}"] for name in ("keys", "left", "passed")))
            for length in range(1, settings.order + 1)
        )
        (uniform,) = tensors["uniform"].tolist()
        if not all(table.is_sound for table in tables) or len(tables[0].keys) != len(words) + len(SPECIAL):
            raise ValueError("the tables are not sorted, or do not have one row per n-gram")
        if not uniform > 0:
            raise ValueError("an unknown word has no probability")
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{folder}: damaged: {error}; copy the whole folder again, or train it again") from error
    return NgramModel(Ngrams(len(words) + len(SPECIAL), uniform, tables), words, settings)
