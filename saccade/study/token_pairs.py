"""Many small Transformers on one task: pairs of token sequences as tensors, without files, vocabularies or a search."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from saccade.models.contract import Seq2Seq
from saccade.study.training import train_on_tensors
from saccade.tasks import task
from saccade.text import BOS, EOS, PAD

_SPECIAL = 4  # ids before the first token's
_ROWS, _RATE = 32, 5e-3  # pairs per update, and the highest learning rate
TokenPair = tuple[Sequence[str], Sequence[str]]


class Tokens:
    """The ids of the tokens of one side: those that occur, in order."""

    def __init__(self, sequences: Iterable[Sequence[str]]) -> None:
        names = sorted({token for sequence in sequences for token in sequence})
        self._ids = {name: place for place, name in enumerate(names, _SPECIAL)}

    def __len__(self) -> int:
        return _SPECIAL + len(self._ids)

    def encode(self, sequences: Iterable[Sequence[str]]) -> Tensor:
        """(B, T), padded at the ends"""
        rows = [torch.tensor([self._ids[token] for token in sequence]) for sequence in sequences]
        return pad_sequence(rows, batch_first=True, padding_value=PAD)


class TokenPairs(NamedTuple):
    """What a model reads and what it must answer, one row per pair."""

    source: Tensor  # (B, S)
    inputs: Tensor  # (B, T), from the start symbol on
    expected: Tensor  # (B, T): the token after each input; where it is PAD, any answer will do


class PairEncoder:
    """Encodes pairs with the tokens of all of them."""

    def __init__(self, pairs: Iterable[TokenPair]) -> None:
        sources, targets = zip(*pairs, strict=True)
        self.source, self.target = Tokens(sources), Tokens(targets)

    def encode(self, pairs: Iterable[TokenPair]) -> TokenPairs:
        sources, targets = zip(*pairs, strict=True)
        written = F.pad(self.target.encode(targets), (1, 1), value=PAD)  # (B, T + 1)
        lengths = written.ne(PAD).sum(1)
        written[:, 0] = BOS
        written[torch.arange(len(written)), lengths + 1] = EOS
        return TokenPairs(self.source.encode(sources), written[:, :-1], written[:, 1:])


def number_examples(
    *, digits: tuple[int, int], count: int, tested: int = 500
) -> tuple[PairEncoder, TokenPairs, TokenPairs]:
    """Numbers in digits, and in Chinese characters: 1005 → 一千零五. For training and for testing"""
    pairs: dict[str, list[TokenPair]] = {
        split: [(tuple(pair.source), tuple(pair.target)) for pair in task("numbers-zh").pairs(most, 1, split, digits)]
        for split, most in (("train", count), ("test", tested))
    }
    encoder = PairEncoder([*pairs["train"], *pairs["test"]])
    return encoder, encoder.encode(pairs["train"]), encoder.encode(pairs["test"])


def loss_of_examples(model: nn.Module, examples: tuple[Tensor, ...]) -> Tensor:
    source, inputs, expected = examples
    logits: Tensor = model(source, source.ne(PAD), inputs)  # (B, T, V)
    return F.cross_entropy(logits.flatten(0, 1), expected.flatten(), ignore_index=PAD, reduction="sum")


def train_on_examples(
    model: Seq2Seq[Any, Any],
    examples: TokenPairs,
    *,
    updates: int,
    seed: int,
    observe: Callable[[int], None] | None = None,
    every: int | None = None,
) -> None:
    train_on_tensors(
        model,
        loss_of_examples,
        tuple(examples),
        rows=_ROWS,
        updates=updates,
        seed=seed,
        lr=_RATE,
        observe=observe,
        every=every,
    )


@torch.no_grad()
def share_correct(model: Seq2Seq[Any, Any], examples: TokenPairs) -> float:
    """The share of the answers, in percent, that a greedy search would write without an error: after each correct
    beginning, the best token is the correct one."""
    source, inputs, expected = examples
    best = model(source, source.ne(PAD), inputs).argmax(-1)
    correct = (best.eq(expected) | expected.eq(PAD)).all(1)
    return 100 * int(correct.sum()) / len(correct)
