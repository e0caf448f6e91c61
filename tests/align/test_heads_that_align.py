"""Which weights align: candidates, and the choice by gold, by agreement, by predictability."""

from dataclasses import replace

import numpy as np
import pytest

from saccade.align import GoldLinks, Links, reverse_links
from saccade.align.attention import AlignmentHead, PairAttention, SegmentedText
from saccade.align.scores import candidate_heads, choose_head

SENTENCES = ["a b c d", "b d a c", "c a d b", "d c b a", "a d c b", "b a d c"]


def segments(text: str) -> SegmentedText:
    pieces = text.split()
    return SegmentedText(
        ids=tuple(range(len(pieces))),
        tokens=tuple(pieces),
        spans=tuple((n, n + 1) for n in range(len(pieces))),
        words=tuple(pieces),
    )


def one_hot(places: list[int], size: int) -> np.ndarray:
    return np.eye(size, dtype=np.float32)[places]


def read(text: str) -> PairAttention:
    """A decoder that writes the source reversed, in capitals. At each step layer 0's head 1 looks at what the last step
    wrote, and layer 1's head 0 at what this step writes; the other two heads look at the end."""
    source, target = segments(text), segments(text.upper()[::-1])
    size = len(source.ids)
    right = list(range(size - 1, -1, -1))
    end = [size] * (size + 1)
    late, early = [size, *right], [*right, size]
    layers = [[end, late], [early, end]]
    return PairAttention(
        source=source,
        target=target,
        layers=tuple(np.stack([one_hot(head, size + 1) for head in heads]) for heads in layers),
        default_head=AlignmentHead(shift=1),
        end="</s>",
    )


ATTENTIONS = [read(text) for text in SENTENCES]
RIGHT = [frozenset((3 - j, j) for j in range(4))] * len(SENTENCES)


def test_a_head_reads_its_layer_head_and_step() -> None:
    one = ATTENTIONS[0]
    assert AlignmentHead(layer=0, head=1).links(one) == RIGHT[0]
    assert AlignmentHead(layer=0, head=1, shift=0).links(one) == {(4 - j, j) for j in range(1, 4)}
    assert AlignmentHead(layer=1, head=0, shift=0).links(one) == RIGHT[0]
    assert AlignmentHead(layer="all", shift=1).weights(one).shape == (4, 4)
    assert AlignmentHead(layer="all", shift=1).weights(one) == pytest.approx(
        (AlignmentHead(layer=0).weights(one) + AlignmentHead(layer=1).weights(one)) / 2
    )


def test_defaults_resolve_to_the_head_of_the_model() -> None:
    """Without any choice it is the model's layer and head; with a layer, the mean of the layer's heads."""
    one = replace(ATTENTIONS[0], default_head=AlignmentHead(layer=1, head=0, shift=0))
    assert one.alignment() == AlignmentHead().links(one) == RIGHT[0]
    assert AlignmentHead().resolve(one) == one.default_head == candidate_heads(one, AlignmentHead())[0]
    assert AlignmentHead(shift=1).resolve(one) == AlignmentHead(layer=1, head=0, shift=1)
    assert AlignmentHead(head=1).resolve(one) == AlignmentHead(layer=1, head=1, shift=0)
    assert AlignmentHead(layer=1).resolve(one) == AlignmentHead(layer=1, shift=0)
    assert one.words(1) == pytest.approx((one.words(1, 0) + one.words(1, 1)) / 2)
    assert one.token_weights().shape == one.token_weights(1).shape
    assert replace(one, default_head=AlignmentHead(layer="all", shift=1)).words() == pytest.approx(
        AlignmentHead(layer="all").weights(ATTENTIONS[0])
    )


def test_candidates_begin_with_the_default_and_are_distinct() -> None:
    one = ATTENTIONS[0]
    assert candidate_heads(one, AlignmentHead()) == (AlignmentHead(layer=0, shift=1),)
    assert candidate_heads(one, AlignmentHead(), every_shift=True) == (
        AlignmentHead(layer=0, shift=1),
        AlignmentHead(layer=0, shift=0),
    )
    every = candidate_heads(one, AlignmentHead(), every_head=True, every_shift=True)
    assert len(set(every)) == len(every) == 2 * (1 + 2 * 3)
    assert every[0] == AlignmentHead(layer=0, shift=1)
    assert str(every[0]) == "layer 0, mean of heads, shift 1"
    assert str(AlignmentHead(layer="all", head=2)) == "all layers, head 2, default shift"


@pytest.mark.parametrize("by", ["gold", "predictability"])
def test_the_right_head_and_shift_are_found(by: str) -> None:
    gold = [GoldLinks.all_sure(links) for links in RIGHT] if by == "gold" else None
    choice = choose_head(
        ATTENTIONS, candidate_heads(ATTENTIONS[0], AlignmentHead(), every_head=True, every_shift=True), gold=gold
    )
    assert choice.by == by
    assert choice.head.links(ATTENTIONS[0]) == RIGHT[0]
    assert (choice.tried, choice.pairs, choice.reverse_head) == (14, 6, None)
    assert choice.value == 1 if by == "gold" else choice.value > 0.5
    assert "best of 14 candidates on 6 pairs" in str(choice)
    assert choice.to_dict()["by"] == by


def test_both_directions_are_chosen_together() -> None:
    reverse = [read(text.upper()[::-1]) for text in SENTENCES]  # reads "D C B A", writes "a b c d" in capitals: as good
    every = candidate_heads(ATTENTIONS[0], AlignmentHead(), every_head=True, every_shift=True)
    choice = choose_head(ATTENTIONS, every, reverse=reverse, reverse_candidates=every)
    assert (choice.by, choice.value, choice.tried) == ("agreement", 1, 14 * 14)
    assert choice.reverse_head is not None
    assert choice.head.links(ATTENTIONS[0]) == reverse_links(choice.reverse_head.links(reverse[0])) == RIGHT[0]
    gold = [GoldLinks.all_sure(links) for links in RIGHT]
    by_gold = choose_head(ATTENTIONS, every, gold=gold, reverse=reverse, reverse_candidates=every)
    assert by_gold.by == "gold"
    assert by_gold.reverse_head is not None
    assert reverse_links(by_gold.reverse_head.links(reverse[0])) == RIGHT[0]


def test_the_first_of_equal_candidates_is_chosen() -> None:
    nothing: list[Links] = [frozenset()] * len(ATTENTIONS)
    gold = [GoldLinks.all_sure(links) for links in nothing]
    among = (
        AlignmentHead(layer=1, head=1, shift=1),
        AlignmentHead(layer=1, head=1, shift=0),
    )  # both look at the end alone
    assert choose_head(ATTENTIONS, among, gold=gold).head == among[0]
