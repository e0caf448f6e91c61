"""The loss of a translation model: cross-entropy, scheduled sampling, guided and sampled attention.

A sampled ("hard") attention learns by REINFORCE, as in Xu et al. 2015, *Show, Attend and Tell*, section 4.1. No
gradient passes through the places s̃ that it draws for a sentence. With log p(y | s̃) the mean over its tokens,
and b its moving average over the updates before, the loss falls along

    ∂ log p(y | s̃) / ∂W  +  λ_r (log p(y | s̃) − b) ∂ log p(s̃) / ∂W  +  λ_e ∂ H[s̃] / ∂W
    b_k = 0.9 b_{k−1} + 0.1 log p(y_k | s̃_k)

and each sentence is read, with probability ½, by the expected value of s̃, the softmax, through which gradients pass.
The paper writes log p(y | s̃) for the whole sentence; as in the authors' program it is divided by the number of tokens,
so that long sentences do not decide the baseline. λ_r = 0.1 and λ_e = 0.002 are that program's as well.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Self, cast

import torch
from torch import Tensor, nn

from saccade.attention.normalisers import Normaliser
from saccade.attention.trace import Trace, expecting, traced
from saccade.data.batching import Batch
from saccade.errors import UserError
from saccade.layers.cross_entropy import cross_entropy
from saccade.layers.embedding import Embeddings
from saccade.layers.linear_cross_entropy import linear_cross_entropy
from saccade.models import Seq2Seq
from saccade.text import PAD
from saccade.train.consistency import Consistency, hide_tokens
from saccade.train.guidance import AlignmentGuide
from saccade.train.training_options import Training


@dataclass(frozen=True, kw_only=True)
class Objective:
    smoothing: float = 0.0  # label smoothing
    word_dropout: float = 0.0  # share of the tokens that the model reads which are hidden
    consistency: Consistency = Consistency()
    own_share: float = 0.0  # share of the decoder's inputs, drawn at random, that are its own predictions
    guided: float = 0.0  # weight of the guide's loss
    guide: AlignmentGuide | None = None
    reinforce: "Reinforce | None" = None  # for a model with sampled attention

    @classmethod
    def of(cls, training: Training, **terms: Any) -> Self:
        """What stays the same in all updates of a run, and further `terms`."""
        consistency = Consistency(training.r_drop, training.simcut, training.simcut_share)
        return cls(smoothing=training.smoothing, word_dropout=training.word_dropout, consistency=consistency, **terms)


def batch_loss(model: Seq2Seq[Any, Any], batch: Batch, objective: Objective) -> tuple[Tensor, Tensor]:
    """The loss to minimise and the plain cross-entropy, both summed over the target's tokens, always in float32."""
    source, read = batch.source, batch.target_in
    if objective.own_share > 0:
        read = _with_own_words(model, batch, objective.own_share)
    if objective.word_dropout:
        source, read = (hide_tokens(tokens, objective.word_dropout) for tokens in (source, read))
    if objective.consistency:
        return objective.consistency.loss(model, batch, source, read, objective.smoothing)
    guide, reinforce = objective.guide if objective.guided > 0 else None, objective.reinforce
    tracing = nullcontext() if guide is None and reinforce is None else traced(model, weights=guide is not None)
    inputs, wanted = (source, batch.source_readable, read), batch.target_out.flatten()
    with tracing as trace, nullcontext() if reinforce is None else expecting(reinforce.choose_expected(batch)):
        # On a GPU the forward pass may be compiled, and all logits at once are as fast.
        features = model.features(*inputs) if batch.source.is_cpu and reinforce is None else None
        logits = model(*inputs).flatten(0, 1) if features is None else None
    each: Tensor | None = None
    if logits is not None:
        loss, each = cross_entropy(logits, wanted, ignored=PAD, smoothing=objective.smoothing)
        plain = each.sum()
    elif features is not None:
        output = cast(Embeddings, model.embeddings).output
        loss, plain = linear_cross_entropy(features, output, wanted, ignored=PAD, smoothing=objective.smoothing)
    if guide is not None and trace is not None:
        loss = loss + objective.guided * guide.loss(model, batch, trace)
    if reinforce is not None and trace is not None and each is not None:
        loss = loss + reinforce.loss(batch, -each.view_as(batch.target_out), trace)
    return loss, plain


def _with_own_words(model: Seq2Seq[Any, Any], batch: Batch, share: float) -> Tensor:
    """Scheduled sampling (Bengio 2015) in two passes (Duckworth 2019; Mihaylova & Martins 2019): the model's likeliest
    token at each place, when it reads the true ones, replaces the true token of the next input by chance. It works for
    every model, recurrent or not."""
    with torch.no_grad():
        predicted = model(batch.source, batch.source_readable, batch.target_in).argmax(-1)  # (B, T)
    inputs = torch.cat([batch.target_in[:, :1], predicted[:, :-1]], 1)  # all begin with bos
    chosen = (torch.rand(inputs.shape, device=inputs.device) < share) & batch.target_readable
    return torch.where(chosen, inputs, batch.target_in)


@dataclass(frozen=True)
class Reinforce:
    training: Training  # λ_r is `reinforce`, λ_e is `reinforce_entropy`
    baseline: float | None  # b; None before the first update

    def choose_expected(self, batch: Batch) -> Tensor:
        """(B,) bool: the sentences to be read by the expected value"""
        return torch.rand(len(batch), device=batch.source.device) < self.training.reinforce_expected

    def loss(self, batch: Batch, log_probs: Tensor, trace: Trace) -> Tensor:
        """The term to add to the cross-entropy, given log p of each target token (B, T), 0 for padding."""
        tokens = batch.target_readable.sum(-1)
        reached = log_probs.detach().sum(-1) / tokens.clamp_min(1)  # (B,)
        baseline = float(log_probs.detach().sum() / tokens.sum()) if self.baseline is None else self.baseline
        advantage = (reached - baseline)[:, None, None]
        total = log_probs.new_zeros(())
        for name, (log_prob, entropy) in trace.draws().items():  # (B, H, T) each
            read = batch.source_readable if name.startswith("encoder") else batch.target_readable
            gained = self.training.reinforce * advantage * log_prob + self.training.reinforce_entropy * entropy
            total = total - (gained * read[:, None]).sum()
        return total


def next_baseline(baseline: float | None, log_prob: float) -> float:
    """b after an update in which a target token had `log_prob`, on average."""
    return log_prob if baseline is None else 0.9 * baseline + 0.1 * log_prob


def has_sampled_attention(model: nn.Module) -> bool:
    return any(isinstance(module, Normaliser) and module.draws for module in model.modules())


def refuse_untrainable_attention(model: Seq2Seq[Any, Any], batch: Batch, term: Reinforce | None = None) -> None:
    """A normaliser that passes no gradient on, and gives no log-probability of its draw, never learns what to read."""
    if term is not None and not term.training.reinforce and not term.training.reinforce_expected:
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


def truth_share(training: Training, step: int) -> float:
    """ε: the probability that the decoder reads a true word at its input, and not its own (Bengio 2015).

    All three fall from (nearly) 1 to ½ at `sampling_half` = h. The paper's slope c of the linear one is 1/2h, its k of
    the exponential one 2^(−1/h), and its k of the inverse sigmoid one solves k·ln k = h.
    """
    half = training.sampling_half
    if training.sampling is None:
        return 1.0
    if training.sampling == "linear":
        share = 1 - step / (2 * half)
    elif training.sampling == "exponential":
        share = 0.5 ** (step / half)
    else:
        k = half + 1.0
        for _ in range(50):  # Newton's method
            k -= (k * math.log(k) - half) / (math.log(k) + 1)
        share = 1 / (1 + math.exp(min(700.0, step / k - math.log(k))))  # k / (k + exp(step/k))
    return max(training.sampling_least, share)
