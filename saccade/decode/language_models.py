"""Language models as they judge texts: n-grams, or a network, which is a translator without a source."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from saccade import config, model_folder
from saccade.data.texts import LINE_END
from saccade.decode import loading
from saccade.decode.batch_sizes import CHUNK
from saccade.decode.scoring import BATCH_TOKENS, force_targets, log_probs
from saccade.decode.translator import Translator
from saccade.errors import UserError
from saccade.models.table import ALL_MODELS
from saccade.ngrams import ngram_model
from saccade.ngrams.ngram_model import NgramModel
from saccade.ngrams.scores import TextModel, TokenProbabilities
from saccade.ranges import BlockLength

Network = TypeVar("Network", bound="TextNetwork")


@dataclass(frozen=True, kw_only=True)
class _TextSettings:
    """What a folder says besides the model; it may be anybody's."""

    block: BlockLength | None = None


class TextNetwork(TextModel):
    def __init__(self, translator: Translator, *, block: int | None = None) -> None:
        """`block`: the tokens of which it reads at a time, across lines; None: each line is a text."""
        self.translator, self.block = translator, block
        self.tokeniser = translator.vocabularies.target

    @classmethod
    def of_folder(cls, folder: Path, *, device: str | torch.device = "auto", trust_code: bool = False) -> Self:
        described = model_folder.load_config(folder)
        if described.model == ngram_model.MODEL:
            raise UserError(f"{folder}: n-grams, not a network; train one with --model radford2018, say")
        if described.model not in ALL_MODELS and ":" not in described.model:  # such as word vectors
            raise UserError(
                f"{folder}: a {described.model} model, not a language model; `saccade lm train` makes these"
            )
        translator = loading.load(folder, device=device, trust_code=trust_code)
        if translator.model.reads_source:
            raise UserError(f"{folder}: a model that translates, not a language model; `saccade lm train` makes these")
        values = {"block": described.extra.get("block")}
        settings = config.from_dict(_TextSettings, values, where=str(folder / "config.json"), at="extra")
        return cls(translator, block=settings.block)

    @property
    def lower(self) -> bool:
        return self.tokeniser.policy.lower

    def split(self, text: str) -> list[str]:
        """The tokens that are predicted."""
        return self.tokeniser.tokens(self.tokeniser.encode(text))

    def score_tokens(self, texts: Iterable[str]) -> Iterator[TokenProbabilities]:
        """In a model of blocks, the texts are the lines of one text."""
        rest = iter(texts)
        while chunk := list(islice(rest, CHUNK)):
            if self.block is None:
                ids = [self.tokeniser.encode(text) for text in chunk]
                rows: Sequence[NDArray[Any]] = self._log_probs(ids)
            else:
                ids = [self.tokeniser.encode(text + LINE_END) for text in chunk]
                rows = self._log_probs_of_lines(ids, self.block)
            for text, row, logs in zip(chunk, ids, rows, strict=True):
                unknown = [*map(self.tokeniser.is_unknown, row), False][: len(logs)]  # the end of a text is known
                yield TokenProbabilities(text, logs.astype(np.float64), np.array(unknown, np.bool_))

    def _log_probs(self, ids: Sequence[Sequence[int]]) -> Sequence[NDArray[Any]]:
        """Of each token, and of the end."""
        return force_targets(self.translator, [((), row) for row in ids], log_probs, batch_tokens=BATCH_TOKENS)

    def _log_probs_of_lines(self, lines: Sequence[Sequence[int]], block: int) -> Sequence[NDArray[Any]]:
        """Of each token of lines that follow one another; each block is read without those before it."""
        joined = [token for line in lines for token in line]
        blocks = [joined[start : start + block - 1] for start in range(0, len(joined), block - 1)]
        scores = np.concatenate([row[:-1] for row in self._log_probs(blocks)])  # a block has no end
        return np.split(scores, np.cumsum([len(line) for line in lines])[:-1])


def load_language_model(
    folder: Path,
    network: type[Network],
    *,
    device: str | torch.device = "auto",
    trust_code: bool = False,
) -> NgramModel | Network:
    """The model of a folder that `saccade lm train` wrote: n-grams, or a `network` of the class that is needed."""
    if model_folder.load_config(folder).model == ngram_model.MODEL:
        return ngram_model.load(folder)
    return network.of_folder(folder, device=device, trust_code=trust_code)
