"""How much of the source has been looked at: the attention that each of its pieces has had, from all steps so far."""

from typing import Any

import torch
from torch import Tensor

from saccade.align.attention import NO_ATTENTION
from saccade.decode.search.options import Search
from saccade.errors import UserError
from saccade.models.contract import Seq2Seq
from saccade.text.tokeniser import EOS

_LEAST = 1e-9  # sparse attention may never look at a piece at all; log 0 would outweigh everything


class SourceCoverage:
    """Takes a model's steps, and watches them only where a penalty asks for it."""

    def __init__(self, model: Seq2Seq[Any, Any], how: Search) -> None:
        self._model, self._rows, self._asked = model, how.beam, how.coverage_penalty > 0
        if self._asked and not model.cross:
            raise UserError(f"a coverage penalty needs attention weights, but {NO_ATTENTION}")

    def begin(self, source: Tensor, readable: Tensor) -> Tensor | None:
        """(B, N, S): nothing yet; what is no piece of the text counts as covered."""
        if not self._asked:
            return None
        return (~readable | (source == EOS)).float()[:, None].repeat(1, self._rows, 1)

    def step(
        self, token: Tensor, t: Tensor, fixed: Any, moving: Any, covered: Tensor | None
    ) -> tuple[Tensor, Any, Tensor | None]:
        if covered is None:
            return *self._model.step(token, t, fixed, moving), None
        with self._model.trace() as trace:
            logits, moving = self._model.step(token, t, fixed, moving)
        sites = torch.stack([trace[site].float().mean((1, 2)) for site in self._model.cross])  # (sites, R, S)
        return logits, moving, covered + torch.unflatten(sites.mean(0), 0, (-1, self._rows))

    def of(self, covered: Tensor) -> float:
        """cp of one hypothesis (S,)"""
        return float(covered.clamp(_LEAST, 1.0).log().sum())
