"""A model that computes the logits of a few tokens alone.

The rows of the output layer for tokens that every sentence may write are one matrix. The others are a few rows for each
sentence, since those of all sentences together would be half of the vocabulary."""

from contextlib import AbstractContextManager
from copy import copy
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from saccade.attention.trace import Trace
from saccade.decode.constraints.choice import NEVER
from saccade.decode.options import Search
from saccade.decode.shortlist.tables import Candidates, Shortlist
from saccade.errors import UserError
from saccade.layers.embedding import Embeddings
from saccade.models.contract import Seq2Seq

Module = TypeVar("Module", bound=nn.Module)


def why_no_shortlist(model: Seq2Seq[Any, Any]) -> str | None:
    """Why the logits of a few tokens cannot be computed alone, or None if they can."""
    if type(model).features is Seq2Seq.features or not isinstance(getattr(model, "embeddings", None), Embeddings):
        return f"the logits of {type(model).__name__} are not those of one output layer"
    return None


def require_shortlist(model: Seq2Seq[Any, Any], shortlist: Shortlist | None) -> Shortlist:
    """The shortlist; the message says why there is none."""
    if (reason := why_no_shortlist(model)) is not None:
        raise UserError(f"--shortlist: {reason}; translate without it")
    if shortlist is None:
        raise UserError("--shortlist: the model has none; make it with `saccade shortlist MODEL PAIRS`")
    return shortlist


def why_whole_vocabulary(search: Search, *, constrained: bool, recorded: bool) -> str | None:
    """Why all logits are computed although the shortlist decides what may be written, or None if they are not."""
    if recorded:
        return "the search tree is recorded by the ids of tokens"
    if constrained:
        return "a constraint may need any token"
    if search.sample:
        return "samples draw a number for every token of the vocabulary"
    return None


class NarrowedFixed(NamedTuple):
    """What stays the same during a search, one row per sentence."""

    inner: Any  # of the model
    ids: Tensor  # (B, U) of the candidates
    forbidden: Tensor  # (B, U) padding, and what the sentence may not write
    weight: Tensor  # (B, L, width) the rows of the output layer for the sentence's own candidates
    bias: Tensor | None  # (B, L)


class NarrowedModel(Seq2Seq[NarrowedFixed, Any]):
    """The logits (…, U) of the candidates alone. Tokens, in and out, are places among those of the sentence. The model
    itself stays as it is."""

    def __init__(self, model: Seq2Seq[Any, Any], candidates: Candidates) -> None:
        super().__init__(model.config, model.source_size, candidates.allowed.shape[1])
        embeddings: Any = model.embeddings
        self._candidates, self._output = candidates, _NarrowedOutput(embeddings.output, candidates.shared)
        self._model = _with_parts(model, embeddings=_with_parts(embeddings, output=self._output))

    @property
    def cross(self) -> list[str]:
        return self._model.cross

    def start(self, source: Tensor, readable: Tensor) -> tuple[NarrowedFixed, Any]:
        inner, moving = self._model.start(source, readable)
        own = self._output.take(self._candidates.own)
        return NarrowedFixed(inner, self._candidates.ids, ~self._candidates.allowed, *own), moving

    def step(self, token: Tensor, t: Tensor, fixed: NarrowedFixed, moving: Any) -> tuple[Tensor, Any]:
        by_sentence = (len(fixed.ids), -1)
        ids = fixed.ids.gather(1, token.view(by_sentence)).flatten()
        self._output.own = fixed.weight, fixed.bias
        logits, moving = self._model.step(ids, t, fixed.inner, moving)
        torch.unflatten(logits, 0, by_sentence).masked_fill_(fixed.forbidden[:, None], NEVER)
        return logits, moving

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        self._output.own = self._output.take(self._candidates.own)
        logits: Tensor = self._model(source, readable, self._candidates.ids.gather(1, target))
        return logits.masked_fill(~self._candidates.allowed[:, None], NEVER)

    def for_hypotheses(self, moving: Any, count: int) -> Any:
        return self._model.for_hypotheses(moving, count)

    def why_state_grows(self) -> str | None:
        return self._model.why_state_grows()

    def trace(self) -> AbstractContextManager[Trace]:
        return self._model.trace()


class _NarrowedOutput(nn.Module):
    """The rows of an output layer for tokens that all sentences share, and for `own` tokens of each sentence: W (B, L,
    width), and a bias (B, L) if there is one."""

    def __init__(self, output: nn.Linear, shared: Tensor) -> None:
        super().__init__()
        self._whole: tuple[Tensor, Tensor | None] = output.weight, output.bias
        self._shared = self.take(shared)
        self.own = self.take(shared[:0, None])

    def take(self, tokens: Tensor) -> tuple[Tensor, Tensor | None]:
        """The rows of tokens, in their shape."""
        weight, bias = self._whole
        return F.embedding(tokens, weight), None if bias is None else bias[tokens]

    def forward(self, features: Tensor) -> Tensor:
        """(B·N, …, width), those of a sentence one after another → (B·N, …, U)"""
        shared, (weight, bias) = F.linear(features, *self._shared), self.own
        if not weight.shape[1]:
            return shared
        by_sentence = features.reshape(len(weight), -1, features.shape[-1])
        own = by_sentence @ weight.mT
        own = own if bias is None else own + bias[:, None]
        return torch.cat([shared, own.view(*features.shape[:-1], -1)], -1)


def _with_parts(module: Module, **parts: nn.Module) -> Module:
    """A module with the same parameters and parts, except for these."""
    other = copy(module)
    other._modules = {**module._modules, **parts}
    return other
