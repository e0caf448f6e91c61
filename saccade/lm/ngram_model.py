"""A model of n-grams: from a text to a folder, and what it says about other texts."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from saccade import config, files, model_folder
from saccade.data.counting import LEFT_OUT, CountedText, count_words
from saccade.errors import UserError
from saccade.lm.arpa import write_arpa
from saccade.lm.chen1998 import BEGIN, END, UNKNOWN, Ids, Ngrams, NgramTable, estimate
from saccade.lm.options import GenerateOptions, NgramTraining, Order, Unit
from saccade.locking import locked
from saccade.model_folder import ModelConfig, StoredModel
from saccade.provenance import provenance, recording_call
from saccade.ranges import change_options
from saccade.text.word_list import NAME, format_words, parse_words
from saccade.text.words import splitter
from saccade.train.run import refuse_used_folder

MODEL = "chen1998"
SPECIAL = ("<s>", "</s>", "<unk>")  # by id
_CARD = "README.md"
_CHUNK = 4_096  # texts that are scored at a time


@dataclass(frozen=True, kw_only=True)
class NgramConfig:
    order: Order = 5
    unit: Unit = "word"
    lower: bool = False
    tokenised: bool = False


@dataclass(frozen=True)
class TextScore:
    """The score of one text. Its end is predicted, too, and counts as a token."""

    log_probability: float
    tokens: int
    unknown: int

    @property
    def perplexity(self) -> float:
        return math.exp(min(700.0, -self.log_probability / self.tokens))


@dataclass(frozen=True)
class TotalScore(TextScore):
    texts: int
    known_log_probability: float  # without the unknown words

    @property
    def known_perplexity(self) -> float:
        return math.exp(min(700.0, -self.known_log_probability / max(1, self.tokens - self.unknown)))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"perplexity": self.perplexity, "known_perplexity": self.known_perplexity}


class NgramModel:
    def __init__(self, ngrams: Ngrams, words: Sequence[str], settings: NgramConfig) -> None:
        self.ngrams, self.words, self.settings = ngrams, list(words), settings
        self._ids = {word: place for place, word in enumerate([*SPECIAL, *self.words]) if place >= len(SPECIAL)}
        self._split = text_splitter(settings)

    def split(self, text: str) -> list[str]:
        """The words, or the characters, that are predicted."""
        return self._split(text)

    def encode(self, text: str) -> Ids:
        return np.array([self._ids.get(word, UNKNOWN) for word in self.split(text)], np.int64)

    def score_texts(self, texts: Iterable[str]) -> Iterator[TextScore]:
        """One score per text, in order."""
        for ids, logs in self._logs(texts):
            yield TextScore(float(logs.sum()), len(logs), int((ids == UNKNOWN).sum()))

    def score(self, texts: Iterable[str]) -> TotalScore:
        """One score for all texts."""
        total, known, tokens, unknown, count = 0.0, 0.0, 0, 0, 0
        for ids, logs in self._logs(texts):
            is_unknown = np.append(ids == UNKNOWN, False)
            total, known = total + float(logs.sum()), known + float(logs[~is_unknown].sum())
            tokens, unknown, count = tokens + len(logs), unknown + int(is_unknown.sum()), count + 1
        if not count:
            raise UserError("nothing to score: there are no texts")
        return TotalScore(total, tokens, unknown, count, known)

    def _logs(self, texts: Iterable[str]) -> Iterator[tuple[Ids, NDArray[np.float64]]]:
        rest = map(self.encode, texts)
        while chunk := list(islice(rest, _CHUNK)):
            yield from zip(chunk, self.ngrams.log_probabilities(chunk), strict=True)

    def generate(self, **options: Any) -> Iterator[str]:
        """Draw texts word by word. `options` are those of `saccade lm generate`."""
        chosen = change_options(GenerateOptions(), options)
        random = np.random.default_rng(chosen.seed)
        start = [BEGIN, *self.encode(chosen.start).tolist()]
        for _ in range(chosen.count):
            ids = list(start)
            while len(ids) <= chosen.longest:
                shares = self.ngrams.next_probabilities(ids)
                shares[UNKNOWN] = 0.0  # which has no spelling
                shares **= 1 / chosen.temperature
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


@recording_call
def train(text: str | Path, **options: Any) -> NgramModel:
    """Count the n-grams of a text with one sentence per line, and save the model.

    `options` are the options of `saccade lm train`: `out="en-lm", order=3, unit="char"`.
    """
    return train_ngrams(change_options(NgramTraining(text=str(text)), options))


def train_ngrams(options: NgramTraining) -> NgramModel:
    out = options.folder
    with locked(out, folder=True):
        refuse_used_folder(out)
        settings = NgramConfig(order=options.order, unit=options.unit, lower=options.lower, tokenised=options.tokenised)
        text = count_words(options.text, text_splitter(settings), most=options.most_words)
        if not len(text.ids):
            raise UserError(f"{text.name}: no words; expected a text, one sentence per line")
        ids = np.where(text.ids == LEFT_OUT, UNKNOWN, text.ids + len(SPECIAL)).astype(np.int64)
        sentences = [sentence for sentence in np.split(ids, np.cumsum(text.lengths)[:-1]) if len(sentence)]
        ngrams = estimate(sentences, len(text.words) + len(SPECIAL), options.order)
        model = NgramModel(ngrams, text.words, replace(settings, order=ngrams.order))
        model.save(out, _card(text, model))
        return model


def _card(text: CountedText, model: NgramModel) -> str:
    made, order = provenance(None), model.ngrams.order
    units = "words" if model.settings.unit == "word" else "characters"
    return f"""# {order}-grams of {text.name}

Chen, Goodman (1998): *An Empirical Study of Smoothing Techniques for Language Modeling*.

- {model.ngrams.size:,} n-grams of up to {order} {units}
- {len(text.ids):,} {units}, {len(text.words):,} of them different
- SHA-256 of the text: {text.digest}

```bash
{made["command"]}
```

{made["date"]}, commit {made["commit"]}.

```python
import saccade
saccade.lm.load("this folder").score(["..."]).perplexity
```
"""


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
