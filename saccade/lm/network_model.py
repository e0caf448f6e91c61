"""A network that is a language model: the scores of texts, texts that it writes, and what it attends to."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from saccade import model_folder
from saccade.data.batching import Batch
from saccade.data.texts import LINE_END
from saccade.decode import loading
from saccade.decode.batch_sizes import CHUNK
from saccade.decode.loading import model_name
from saccade.decode.options import GAP, Constraints
from saccade.decode.scoring import BATCH_TOKENS, force_targets, log_probs
from saccade.decode.translator import Translator
from saccade.errors import UserError
from saccade.lm.options import DRAWING, GenerateOptions
from saccade.lm.text_attention import TextAttention
from saccade.models.language_model import LanguageModel
from saccade.ngrams import ngram_model
from saccade.ngrams.scores import TextModel, TokenProbabilities
from saccade.ranges import OptionError, share_options
from saccade.text import BOS

_BEAM = 5  # of a search for the most probable text


class NetworkModel(TextModel):
    def __init__(self, translator: Translator, *, block: int | None = None) -> None:
        """`block`: the tokens of which it reads at a time, across lines; None: each line is a text."""
        self.translator, self.block = translator, block
        self.tokeniser = translator.vocabularies.target

    @classmethod
    def of_folder(cls, folder: Path, *, device: str = "auto", trust_code: bool = False) -> Self:
        if model_folder.load_config(folder).model == ngram_model.MODEL:
            raise UserError(f"{folder}: n-grams, not a network; train one with --model radford2018, say")
        translator = loading.load(folder, device=device, trust_code=trust_code)
        if translator.model.reads_source:
            raise UserError(f"{folder}: a model that translates, not a language model; `saccade lm train` makes these")
        return cls(translator, block=model_folder.load_config(folder).extra.get("block"))

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

    def generate(self, **options: Any) -> Iterator[str]:
        """Write texts token by token. `options` are those of `saccade lm generate`, and those of Constraints."""
        chosen, search, constraints = share_options(options, GenerateOptions(), DRAWING, Constraints())
        if chosen.best:
            beam = max(_BEAM, chosen.count)
            search = replace(search, sample=False, temperature=1.0, beam=beam, n_best=chosen.count)
        if chosen.start:
            constraints = self._starting_with(chosen.start.replace("\n", LINE_END), constraints)
        positions, longest = self.translator.limits.tokens, search.longest
        if positions is not None and longest is not None and longest > positions:
            raise OptionError("longest", f"must be at most {positions}, the positions of this model; got {longest}")
        sources = [""] * (1 if chosen.best else chosen.count)
        for result in self.translator.translate(sources, search, constraints=constraints):
            yield from (text.text.replace(LINE_END, "\n") for text in result.n_best)

    def _starting_with(self, start: str, constraints: Constraints) -> Constraints:
        if constraints.outline:
            raise OptionError(
                "start", f"cannot be combined with an outline; write {start + GAP!r} before the outline's rest"
            )
        if self.tokeniser.policy.kind == "word":  # "the man" is not the beginning of "the many"
            return replace(constraints, outline=f"{start} {GAP}")
        return replace(constraints, prefix=start)

    def attend(self, text: str) -> TextAttention:
        """What each step, which predicts a token of the text, reads of the tokens before it."""
        model = self.translator.model
        if not isinstance(model, LanguageModel) or not model.own:
            raise UserError(f"{model_name(type(model))} has no attention; radford2018 and cheng2016 have")
        ids = self.tokeniser.encode(text.replace("\n", LINE_END))
        if not ids:
            raise UserError("the text is empty; expected at least one word")

        def read(batch: Batch) -> list[tuple[NDArray[np.float32], ...]]:
            with model.trace() as trace:
                model(batch.source, batch.source_readable, batch.target_in)
            # The last step predicts the end of the text, and is left out.
            steps = [trace[name][0, :, :-1, : len(ids)] for name in model.own]
            # A memory network does not read the state that it is computing: its last column is empty.
            padded = [F.pad(weights, (0, len(ids) - weights.shape[-1])) for weights in steps]
            return [tuple(weights.float().cpu().numpy() for weights in padded)]

        with torch.inference_mode():
            (layers,) = self.translator.force([((), ids)], read, BATCH_TOKENS)
        tokens = self.tokeniser.tokens([BOS, *ids])
        return TextAttention(tuple(tokens[1:]), tuple(tokens[:-1]), layers)
