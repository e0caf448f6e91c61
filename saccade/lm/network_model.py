"""A network that is a language model: besides the scores of texts, texts that it writes, and what it attends to."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from saccade.data.batching import Batch
from saccade.data.texts import LINE_END
from saccade.decode.language_models import TextNetwork
from saccade.decode.loading import model_name
from saccade.decode.options import GAP, Constraints
from saccade.decode.scoring import BATCH_TOKENS
from saccade.errors import UserError
from saccade.lm.options import DRAWING, GenerateOptions
from saccade.lm.text_attention import TextAttention
from saccade.models.language_model import LanguageModel
from saccade.ranges import OptionError, share_options
from saccade.text import BOS

_BEAM = 5  # of a search for the most probable text


class NetworkModel(TextNetwork):
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
