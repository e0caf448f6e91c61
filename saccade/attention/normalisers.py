"""Normalisers: from scores to weights. All work in float32 at least, and a row with nothing allowed gets zeros."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention.heads import widen
from saccade.attention.memory import Draw, Memory
from saccade.attention.part import Law, Part
from saccade.attention.trace import expected_rows

_MAY_SUM_TO_LESS: Mapping[Law, str] = {"sums to one": "what is left over is read from nothing"}
_CHOICE = "a choice may flip"


class Normaliser(Part):
    """weights (B, H, Q, S) of scores (B, H, Q, S), and a Draw where slots are sampled.

    `allowed` (bool, broadcastable to scores) is True where a slot may be read; None: everywhere.
    """

    needs_history: ClassVar[bool] = False
    draws: ClassVar[bool] = False  # slots are sampled, without a gradient: training learns the choice by REINFORCE

    def forward(self, scores: Tensor, allowed: Tensor | None, history: Tensor | None) -> tuple[Tensor, Draw | None]:
        weights, draw = self.weigh(widen(scores), allowed, history)
        return weights if allowed is None else weights.masked_fill(~allowed, 0.0), draw

    @abstractmethod
    def weigh(self, scores: Tensor, allowed: Tensor | None, history: Tensor | None) -> tuple[Tensor, Draw | None]:
        """The weights, which must be correct where `allowed`, and finite everywhere."""

    def begin(self, nothing: Tensor) -> Tensor:
        """The history before the first query, given zeros (R, H, S)."""
        return nothing

    def advance(self, history: Tensor, weights: Tensor, memory: Memory) -> Tensor:
        return weights


def mask_scores(scores: Tensor, allowed: Tensor | None) -> Tensor:
    """Fill closed slots with the lowest finite number: −inf would turn an empty row into NaN."""
    return scores if allowed is None else scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)


class Softmax(Normaliser):
    name = "softmax"
    formula = "exp(eⱼ) / Σ exp(e)"

    def weigh(self, scores: Tensor, allowed: Tensor | None, history: Tensor | None) -> tuple[Tensor, None]:
        return torch.softmax(mask_scores(scores, allowed), -1), None


class SoftmaxOrNothing(Normaliser):
    """A softmax with an additional empty slot of score 0, or learned: a head may decline to read."""

    name = "softmax or nothing"
    formula = "exp(eⱼ) / (exp(e₀) + Σ exp(e))"
    exempt = _MAY_SUM_TO_LESS

    def __init__(self, heads: int = 1, *, learned: bool = False) -> None:
        super().__init__()
        self.heads = heads
        self.nothing = nn.Parameter(torch.zeros(heads), requires_grad=learned)

    def weigh(self, scores: Tensor, allowed: Tensor | None, history: Tensor | None) -> tuple[Tensor, None]:
        slot = self.nothing.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
        return torch.softmax(torch.cat([mask_scores(scores, allowed), slot], -1), -1)[..., :-1], None


class _Sparse(Normaliser):
    """The entmax package's functions, over scores whose closed slots lie too low to get any weight."""

    exempt = {"compile": "the entmax package breaks torch.compile(fullgraph=True)"}

    def weigh(self, scores: Tensor, allowed: Tensor | None, history: Tensor | None) -> tuple[Tensor, None]:
        if allowed is None:
            return self._sparse(scores), None
        # The support reaches 1/(α−1) below the largest score: 1 for sparsemax, 2 for entmax-1.5. A far lower number
        # would swamp the package's cumulative sums.
        largest = mask_scores(scores, allowed).amax(-1, keepdim=True).detach()
        lowest = torch.where(allowed.any(-1, keepdim=True), largest - 4.0, 0.0)
        return self._sparse(torch.where(allowed, scores, lowest)), None

    def _sparse(self, scores: Tensor) -> Tensor:
        """A row that is not finite becomes NaN, as in a softmax: the package would raise an IndexError."""
        finite = scores.isfinite().all(-1, keepdim=True)
        return self.sparse(scores.masked_fill(~finite, 0.0)).masked_fill(~finite, float("nan"))

    @abstractmethod
    def sparse(self, scores: Tensor) -> Tensor:
        """The weights of finite scores."""


class Sparsemax(_Sparse):
    """Martins & Astudillo 2016: the nearest point of the simplex; most weights are exactly zero."""

    name = "sparsemax"
    formula = "argmin‖w − e‖², w on the simplex"

    def sparse(self, scores: Tensor) -> Tensor:
        from entmax import sparsemax

        weights: Tensor = sparsemax(scores, dim=-1)
        return weights


class Entmax15(_Sparse):
    """Peters, Niculae & Martins 2019, α = 1.5: between softmax and sparsemax."""

    name = "entmax-1.5"
    formula = "[e/2 − τ]₊²"

    def sparse(self, scores: Tensor) -> Tensor:
        from entmax import entmax15

        weights: Tensor = entmax15(scores, dim=-1)
        return weights


class Sigmoid(Normaliser):
    """Each slot is weighed by itself; −log n keeps the sum near 1 when n slots are equally good."""

    name = "sigmoid"
    formula = "sigmoid(eⱼ − log n)"
    exempt = dict.fromkeys(("sums to one", "sums to at most one"), "each slot is weighed by itself")

    def weigh(self, scores: Tensor, allowed: Tensor | None, history: Tensor | None) -> tuple[Tensor, None]:
        if allowed is None:
            return torch.sigmoid(scores - math.log(scores.shape[-1])), None
        count = allowed.expand(*allowed.shape[:-1], scores.shape[-1]).sum(-1, keepdim=True).clamp_min(1)
        return torch.sigmoid(scores - count.to(scores.dtype).log()), None


class Monotonic(Normaliser):
    """Raffel 2017: from the place last read, move on slot by slot until one is chosen with probability p = sigmoid(e).

    The expected weights are α_ij = p_ij q_ij with q_ij = (1 − p_{i,j−1}) q_{i,j−1} + α_{i−1,j}. The recurrence is
    solved in one step in log space, q_j = exp(L_j) Σ_{k≤j} α_{i−1,k} exp(−L_k), L_j = Σ_{l<j} log(1 − p_l), which,
    unlike a ratio of cumulative products, does not underflow on long sources.
    With `hard_when_testing`, evaluation stops at the first slot with p ≥ ½, as the paper decodes.
    """

    name = "monotonic"
    formula = "αᵢⱼ = pᵢⱼ qᵢⱼ, qᵢⱼ = (1 − pᵢⱼ₋₁) qᵢⱼ₋₁ + αᵢ₋₁ⱼ"
    needs_history = True
    exempt = _MAY_SUM_TO_LESS

    def __init__(self, *, noise: float = 1.0, hard_when_testing: bool = False) -> None:
        super().__init__()
        self.noise = noise  # standard deviation, in training: it drives p towards 0 and 1
        self.hard_when_testing = hard_when_testing
        if hard_when_testing:
            self.exempt = {**_MAY_SUM_TO_LESS, "continuous": _CHOICE}

    def begin(self, nothing: Tensor) -> Tensor:
        return F.pad(nothing[..., 1:], (1, 0), value=1.0)  # reading starts before the first slot

    def weigh(self, scores: Tensor, allowed: Tensor | None, history: Tensor | None) -> tuple[Tensor, None]:
        assert history is not None
        if self.training and self.noise:
            scores = scores + self.noise * torch.randn_like(scores)
        scores = mask_scores(scores, allowed)
        if self.hard_when_testing and not self.training:
            scores = torch.where(scores >= 0, 1e4, -1e4).to(scores.dtype)
        stay, go = F.logsigmoid(scores), F.logsigmoid(-scores)  # log p, log (1 − p)
        passed = F.pad(go.cumsum(-1)[..., :-1], (1, 0))  # L_j
        arrived = history.to(scores.dtype).clamp_min(torch.finfo(scores.dtype).tiny).log() - passed
        return torch.exp(stay + passed + torch.logcumsumexp(arrived, -1)), None


class Sampled(Normaliser):
    """Xu 2015 *hard*: one slot is drawn in training, the best is taken in evaluation.

    No gradient passes through the choice; REINFORCE uses `Reading.log_prob` and `Reading.entropy`. In training, some
    sentences may be read by the expected value of the choice instead, which is the softmax: see `expecting`.
    """

    name = "sampled"
    formula = "one-hot(j), j ~ softmax(e)"
    draws = True
    exempt = {"gradcheck": "a choice has no derivative", "continuous": _CHOICE}

    def weigh(self, scores: Tensor, allowed: Tensor | None, history: Tensor | None) -> tuple[Tensor, Draw]:
        scores = mask_scores(scores, allowed)
        chosen = (_with_gumbel_noise(scores) if self.training else scores).argmax(-1, keepdim=True)
        log_probs = torch.log_softmax(scores, -1)
        probs = log_probs.exp()
        log_prob = log_probs.gather(-1, chosen).squeeze(-1)
        entropy = -(probs * log_probs.clamp_min(torch.finfo(scores.dtype).min)).sum(-1)  # 0 · −∞ would be NaN
        if allowed is not None:
            log_prob, entropy = (x.masked_fill(~allowed.any(-1), 0.0) for x in (log_prob, entropy))
        weights = torch.zeros_like(scores).scatter(-1, chosen, 1.0)
        if self.training and (expected := expected_rows()) is not None:
            rows = expected[:, None, None]  # (B, 1, 1)
            weights = torch.where(rows[..., None], probs, weights)
            log_prob = log_prob.masked_fill(rows, 0.0)
        return weights, Draw(log_prob, entropy)


class GumbelStraightThrough(Normaliser):
    """Jang 2017: a sampled one-hot forward, the gradient of the tempered softmax backward."""

    name = "gumbel"
    formula = "one-hot(argmax(e + g)), gradient of softmax((e + g)/τ)"
    exempt = {"gradcheck": "the gradient is intentionally that of another function", "continuous": _CHOICE}

    def __init__(self, temperature: float = 1.0) -> None:
        super().__init__()
        self.temperature = temperature

    def weigh(self, scores: Tensor, allowed: Tensor | None, history: Tensor | None) -> tuple[Tensor, None]:
        scores = mask_scores(_with_gumbel_noise(scores) if self.training else scores, allowed)
        soft = torch.softmax(scores / self.temperature, -1)
        hard = torch.zeros_like(soft).scatter(-1, scores.argmax(-1, keepdim=True), 1.0)
        return hard + (soft - soft.detach()), None


def _with_gumbel_noise(scores: Tensor) -> Tensor:
    return scores - torch.empty_like(scores).exponential_().log()
