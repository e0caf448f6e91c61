"""Models for the tests of the search: a chain with known probabilities, and a tiny model of every paper."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from saccade.models import MODELS, Seq2Seq
from saccade.text import BOS, EOS, PAD

Model = Seq2Seq[Any, Any]
Score = Callable[[float, int], float]
VOCABULARY = 7  # the four special ids, of which a search may write UNK and EOS, and three words


class Chain(Seq2Seq[Tensor, Tensor]):
    """p(y_i | i, y_{i−1}), another chain for each first token of the source. It watches what a search does with rows.

    The place matters, or hypotheses of the same steps in another order would be exactly as good.
    """

    def __init__(self, logits: Tensor) -> None:
        super().__init__(None, *logits.shape[1:3])
        self.logits = logits  # (place, first token of the source, last token, V)
        self.rows: list[tuple[int, int]] = []  # sentences and hypotheses, at each step

    def start(self, source: Tensor, readable: Tensor) -> tuple[Tensor, Tensor]:
        return source[:, 0], source[:, 0]

    def step(self, token: Tensor, t: Tensor, fixed: Tensor, moving: Tensor) -> tuple[Tensor, Tensor]:
        assert torch.equal(moving, fixed.repeat_interleave(token.shape[0] // fixed.shape[0]))
        assert t.shape == token.shape and t.eq(len(self.rows)).all()
        self.rows.append((fixed.shape[0], token.shape[0]))
        return self.logits[t, moving, token], moving

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        return self.logits[torch.arange(target.shape[1]), source[:, :1].expand_as(target), target]


def random_chain(seed: int, scale: float = 2.0) -> Chain:
    generator = torch.Generator().manual_seed(seed)
    return Chain(torch.randn(20, VOCABULARY, VOCABULARY, VOCABULARY, generator=generator) * scale)


TINY: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in MODELS},
    "bahdanau2014, conditional, coverage": ("bahdanau2014", {"decoder": "conditional", "attention": "tu2016"}),
    "vaswani2017, rotary, convolution, monotonic": (
        "vaswani2017",
        {"positions": "rotary", "feed_forward": "convolution", "cross_attention": "raffel2017"},
    ),
    "vaswani2017, coverage of what was written": ("vaswani2017", {"decoder_attention": "tu2016"}),
}


def tiny(name: str, seed: int = 1, vocabulary: int = VOCABULARY) -> Model:
    """The smallest preset, smaller still, in float64 and with parameters large enough that every part matters."""
    torch.manual_seed(seed)
    model, options = TINY[name]
    preset = MODELS[model].PRESETS["tiny"]
    large = {f.name: 8 for f in fields(preset) if type(size := getattr(preset, f.name)) is int and size > 16}
    built = MODELS[model](replace(preset, **large | options), vocabulary, vocabulary).double().eval()
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.8)
    return built


def single(*tokens: int) -> tuple[Tensor, Tensor]:
    """A source of one sentence, and its readable"""
    return torch.tensor([tokens]), torch.ones(1, len(tokens), dtype=torch.bool)


def batch(*rows: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    longest = max(len(row) for row in rows)
    source = torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
    return source, torch.arange(longest) < torch.tensor([[len(row)] for row in rows])


def log_probs(model: Model, source: Tensor, readable: Tensor, written: tuple[int, ...]) -> list[float]:
    """Of each token of `written`, by one teacher-forced pass"""
    with torch.no_grad():
        logits = model(source, readable, torch.tensor([[BOS, *written[:-1]]]))
    return [float(step[token]) for step, token in zip(torch.log_softmax(logits[0], -1), written)]


def after(model: Model, source: Tensor, readable: Tensor, prefix: tuple[int, ...]) -> dict[int, float]:
    """The log-probability of each token that may follow, by one teacher-forced pass"""
    with torch.no_grad():
        logits = model(source, readable, torch.tensor([[BOS, *prefix]]))[0, -1]
    steps = torch.log_softmax(logits, -1).tolist()
    return {token: step for token, step in enumerate(steps) if token not in (PAD, BOS)}


def greedy(model: Model, source: Tensor, readable: Tensor, longest: int) -> tuple[int, ...]:
    """The most probable token, again and again"""
    written: tuple[int, ...] = ()
    while len(written) < longest:
        following = after(model, source, readable, written)
        best = max(following, key=lambda token: following[token])
        if best == EOS:
            return written
        written += (best,)
    return written


def plain_beam(
    model: Model, source: Tensor, readable: Tensor, *, beam: int, longest: int, score: Score, shortest: int = 0
) -> list[tuple[bool, float, tuple[int, ...]]]:
    """A beam that never stops before its places are gone: (ended, score, tokens), best first"""
    hypotheses: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    closed: list[tuple[bool, float, tuple[int, ...]]] = []
    for length in range(1, longest + 1):
        continued = [
            (total + step, (*prefix, token))
            for total, prefix in hypotheses
            for token, step in after(model, source, readable, prefix).items()
            if token != EOS or length > shortest
        ]
        hypotheses = []
        for total, tokens in sorted(continued, reverse=True)[: beam - len(closed)]:
            if tokens[-1] == EOS:
                closed.append((True, score(total, length), tokens[:-1]))
            elif length == longest:
                closed.append((False, score(total, length), tokens))
            else:
                hypotheses.append((total, tokens))
    return sorted(closed, reverse=True)
