"""How a sampled ("hard") attention learns: by REINFORCE, as in Xu et al. 2015, *Show, Attend and Tell*, section 4.1.

No gradient passes through the places s̃ that an attention draws for a sentence. With log p(y | s̃) the mean over the
sentence's tokens, and b its moving average over the updates before, the loss falls along

    ∂ log p(y | s̃) / ∂W  +  λ_r (log p(y | s̃) − b) ∂ log p(s̃) / ∂W  +  λ_e ∂ H[s̃] / ∂W
    b_k = 0.9 b_{k−1} + 0.1 log p(y_k | s̃_k)

and each sentence is read, with probability ½, by the expected value of s̃, the softmax, through which gradients pass.

The paper writes log p(y | s̃) for the whole sentence; as in the authors' program it is divided by the number of tokens,
so that long sentences do not decide the baseline. λ_r = 0.1 and λ_e = 0.002 are that program's as well.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from saccade.attention.normalisers import Normaliser
from saccade.attention.trace import Trace
from saccade.data.batching import Batch
from saccade.errors import UserError
from saccade.models import Seq2Seq

_KEPT = 0.9  # of the baseline, from update to update


@dataclass(frozen=True, kw_only=True)
class Reinforce:
    weight: float  # λ_r
    entropy: float  # λ_e
    expected: float  # probability that a sentence is read by the expected value
    baseline: float | None  # b; None before the first update

    def choose_expected(self, batch: Batch) -> Tensor:
        """(B,) bool"""
        return torch.rand(len(batch), device=batch.source.device) < self.expected

    def loss(self, batch: Batch, log_probs: Tensor, trace: Trace) -> Tensor:
        """To be added to the cross-entropy, given log p of each target token (B, T), 0 where it is padding."""
        tokens = batch.target_readable.sum(-1)
        reached = log_probs.detach().sum(-1) / tokens.clamp_min(1)  # (B,)
        baseline = float(log_probs.detach().sum() / tokens.sum()) if self.baseline is None else self.baseline
        advantage = (reached - baseline)[:, None, None]
        total = log_probs.new_zeros(())
        for name, (log_prob, entropy) in trace.draws().items():  # (B, H, T) each
            read = batch.source_readable if name.startswith("encoder") else batch.target_readable
            gained = self.weight * advantage * log_prob + self.entropy * entropy
            total = total - (gained * read[:, None]).sum()
        return total


def next_baseline(baseline: float | None, log_prob: float) -> float:
    """After an update in which a target token had `log_prob`, on average."""
    return log_prob if baseline is None else _KEPT * baseline + (1 - _KEPT) * log_prob


def has_sampled_attention(model: Seq2Seq[Any, Any]) -> bool:
    """Whether an attention of the model is sampled."""
    return any(isinstance(module, Normaliser) and module.draws for module in model.modules())


def refuse_untrainable_attention(model: Seq2Seq[Any, Any], batch: Batch, term: Reinforce | None = None) -> None:
    """A normaliser that passes no gradient on, and says nothing of what it drew, never learns what to read."""
    if term is not None and not term.weight and not term.expected:
        raise UserError(
            "train.reinforce and train.reinforce_expected are both 0, so a sampled attention could never learn what to "
            "read; leave one of them at its default"
        )
    stuck: list[str] = []

    def look(part: Normaliser, inputs: tuple[Tensor, ...], output: tuple[Tensor, object]) -> None:
        if inputs[0].requires_grad and not output[0].requires_grad and output[1] is None:
            stuck.append(part.name or type(part).__name__)

    parts = [module for module in model.modules() if isinstance(module, Normaliser)]
    hooks = [part.register_forward_hook(look) for part in parts]
    try:
        with torch.random.fork_rng([batch.source.device] if batch.source.is_cuda else []), torch.enable_grad():
            model(batch.source, batch.source_readable, batch.target_in)
    finally:
        for hook in hooks:
            hook.remove()
    if stuck:
        raise UserError(
            f"the attention's normaliser {stuck[0]!r} passes no gradient on and gives no log-probability of its "
            "choice, so what to read could never be learnt; choose another attention: saccade attentions lists them"
        )
