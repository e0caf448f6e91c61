"""Several models that write one translation together: they average their probabilities at every token.

An ensemble has the contract of a model, so that every search accepts it. Its Fixed and Moving are its members'.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import torch
from torch import Tensor, nn

from saccade.decode.options import Average
from saccade.decode.translator import Translator
from saccade.errors import UserError
from saccade.models.contract import PaperInfo, Seq2Seq

State = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class EnsembleConfig:
    """The mean of p_1 … p_n, or their geometric mean ("log-probabilities": any member may veto a token)."""

    average: Average = "probabilities"
    weights: tuple[float, ...] = ()  # one per member, with any sum; empty: equal weights


class Ensemble(Seq2Seq[State, State]):
    """Any models with the same two vocabularies. Its attention is that of the first member that has attention."""

    config_type = EnsembleConfig
    PRESETS = {"tiny": EnsembleConfig()}
    paper = PaperInfo("Hansen, Salamon", 1990, "Neural Network Ensembles", "each member in its own way")

    def __init__(self, members: Sequence[Seq2Seq[Any, Any]], config: EnsembleConfig | None = None) -> None:
        config = config or EnsembleConfig()
        if not members:
            raise UserError("an ensemble needs at least one model, got none")
        sizes = {(member.source_size, member.target_size) for member in members}
        if len(sizes) > 1:
            raise UserError(f"the models of an ensemble must share their vocabularies; got sizes {sorted(sizes)}")
        if config.average not in get_args(Average):
            raise UserError(f"average: expected {' or '.join(get_args(Average))}, got {config.average!r}")
        weights = config.weights or (1.0,) * len(members)
        if len(weights) != len(members) or min(weights) < 0 or not 0 < sum(weights) < float("inf"):
            expected = f"{len(members)}, one per model, none negative"
            raise UserError(f"weights of an ensemble: expected {expected}; got {weights}")
        super().__init__(config, *sizes.pop())
        self._models, self.members = list(members), nn.ModuleList(members)
        self.weights = [weight / sum(weights) for weight in weights]
        self._attending = next((place for place, member in enumerate(members) if member.cross), 0)
        self.alignment_shift = members[self._attending].alignment_shift

    @property
    def cross(self) -> list[str]:
        return [f"members.{self._attending}.{name}" for name in self._models[self._attending].cross]

    def start(self, source: Tensor, readable: Tensor) -> tuple[State, State]:
        fixed, moving = zip(*(member.start(source, readable) for member in self._models), strict=True)
        return fixed, moving

    def why_state_grows(self) -> str | None:
        return next(filter(None, (member.why_state_grows() for member in self._models)), None)

    def why_no_shared_cache(self) -> str | None:
        reasons = [member.why_no_shared_cache() for member in self._models]
        return None if None in reasons else reasons[0]

    def for_hypotheses(self, moving: State, count: int) -> State:
        return tuple(m.for_hypotheses(state, count) for m, state in zip(self._models, moving, strict=True))

    def step(self, token: Tensor, t: Tensor, fixed: State, moving: State) -> tuple[Tensor, State]:
        states = zip(self._models, fixed, moving, strict=True)
        logits, moved = zip(*(member.step(token, t, *state) for member, *state in states), strict=True)
        return self._average(logits), moved

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        return self._average([member(source, readable, target) for member in self._models])

    def _average(self, logits: Sequence[Tensor]) -> Tensor:
        """Logits (…, V): log Σ_m w_m p_m, or Σ_m w_m log p_m"""
        precise = torch.promote_types(logits[0].dtype, torch.float32)
        # 0 · −∞ counts as 0: a member without weight has no veto.
        weighted = [(weight, each) for weight, each in zip(self.weights, logits, strict=True) if weight > 0]
        log_probs = [(weight, torch.log_softmax(each, -1, dtype=precise)) for weight, each in weighted]
        if self.config.average == "probabilities":
            return torch.logsumexp(torch.stack([each + math.log(weight) for weight, each in log_probs]), 0)
        return torch.stack([each * weight for weight, each in log_probs]).sum(0)


def combine(
    translators: Mapping[str, Translator], *, average: Average = "probabilities", weights: Sequence[float] = ()
) -> Translator:
    """One translator that uses several models. Their names, such as their folders, appear in error messages."""
    (lead, first), *others = translators.items()
    for name, other in others:
        if other.vocabularies.hash != first.vocabularies.hash:
            advice = "train the models of an ensemble with the same one"
            raise UserError(f"{name}: its vocabulary differs from that of {lead}; {advice}")
    members = translators.values()
    config = EnsembleConfig(average=average, weights=tuple(weights))
    ensemble = Ensemble([member.model for member in members], config)
    longest = min((each.limits.words for each in members if each.limits.words is not None), default=None)
    head = next((member.alignment_head for member in members if member.attends), None)
    return Translator(ensemble, first.vocabularies, first.device, longest_trained=longest, alignment_head=head)
