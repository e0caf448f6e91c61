"""Which weights align: candidates, and the choice by gold, by agreement, by foretelling."""

from dataclasses import replace

import numpy as np
import pytest

from saccade.decode.attended import Attended, Reader, Segments
from saccade.decode.readers import choose, readers, turn
from saccade.evaluate import GoldLinks, Links

SENTENCES = ["a b c d", "b d a c", "c a d b", "d c b a", "a d c b", "b a d c"]


def segments(text: str) -> Segments:
    pieces = text.split()
    return Segments(
        ids=tuple(range(len(pieces))),
        pieces=tuple(pieces),
        spans=tuple((n, n + 1) for n in range(len(pieces))),
        words=tuple(pieces),
    )


def one_hot(places: list[int], size: int) -> np.ndarray:
    return np.eye(size, dtype=np.float32)[places]


def read(text: str) -> Attended:
    """A decoder that writes the source reversed, in capitals. At each step layer 0's head 1 looks at what the last step
    wrote, and layer 1's head 0 at what this step writes; the other two heads look at the end."""
    source, target = segments(text), segments(text.upper()[::-1])
    size = len(source.ids)
    right = list(range(size - 1, -1, -1))
    end = [size] * (size + 1)
    late, early = [size, *right], [*right, size]
    layers = [[end, late], [early, end]]
    return Attended(
        source=source,
        target=target,
        layers=tuple(np.stack([one_hot(head, size + 1) for head in heads]) for heads in layers),
        usual=Reader(shift=1),
        end="</s>",
    )


ATTENDED = [read(text) for text in SENTENCES]
RIGHT = [frozenset((3 - j, j) for j in range(4))] * len(SENTENCES)


def test_a_reader_takes_its_layer_head_and_step() -> None:
    one = ATTENDED[0]
    assert Reader(layer=0, head=1).links(one) == RIGHT[0]
    assert Reader(layer=0, head=1, shift=0).links(one) == {(4 - j, j) for j in range(1, 4)}
    assert Reader(layer=1, head=0, shift=0).links(one) == RIGHT[0]
    assert Reader(layer="all", shift=1).weights(one).shape == (4, 4)
    assert Reader(layer="all", shift=1).weights(one) == pytest.approx(
        (Reader(layer=0).weights(one) + Reader(layer=1).weights(one)) / 2
    )


def test_a_model_has_its_own_reader() -> None:
    """Where nothing is said it is taken, head and all; where a layer is, the mean of that layer's heads."""
    one = replace(ATTENDED[0], usual=Reader(layer=1, head=0, shift=0))
    assert one.alignment() == Reader().links(one) == RIGHT[0]
    assert Reader().settled(one) == one.usual == readers(one, Reader())[0]
    assert Reader(shift=1).settled(one) == Reader(layer=1, head=0, shift=1)
    assert Reader(head=1).settled(one) == Reader(layer=1, head=1, shift=0)
    assert Reader(layer=1).settled(one) == Reader(layer=1, shift=0)
    assert one.words(1) == pytest.approx((one.words(1, 0) + one.words(1, 1)) / 2)
    assert one.pieces().shape == one.pieces(1).shape
    assert replace(one, usual=Reader(layer="all", shift=1)).words() == pytest.approx(
        Reader(layer="all").weights(ATTENDED[0])
    )


def test_candidates_begin_with_the_usual_one_and_are_told_apart() -> None:
    one = ATTENDED[0]
    assert readers(one, Reader()) == (Reader(layer=0, shift=1),)
    assert readers(one, Reader(), every_shift=True) == (Reader(layer=0, shift=1), Reader(layer=0, shift=0))
    every = readers(one, Reader(), every_head=True, every_shift=True)
    assert len(set(every)) == len(every) == 2 * (1 + 2 * 3)
    assert every[0] == Reader(layer=0, shift=1)
    assert str(every[0]) == "layer 0, mean of heads, shift 1"
    assert str(Reader(layer="all", head=2)) == "all layers, head 2, the usual shift"


@pytest.mark.parametrize("by", ["gold", "foretelling"])
def test_the_right_head_and_shift_are_found(by: str) -> None:
    gold = [GoldLinks.all_sure(links) for links in RIGHT] if by == "gold" else None
    choice = choose(ATTENDED, readers(ATTENDED[0], Reader(), every_head=True, every_shift=True), gold=gold)
    assert choice.by == by
    assert choice.reader.links(ATTENDED[0]) == RIGHT[0]
    assert (choice.tried, choice.pairs, choice.reverse) == (14, 6, None)
    assert choice.value == 1 if by == "gold" else choice.value > 0.5
    assert "best of 14 on 6 pairs" in str(choice)
    assert choice.to_dict()["by"] == by


def test_both_directions_are_chosen_together() -> None:
    reverse = [read(text.upper()[::-1]) for text in SENTENCES]  # reads "D C B A", writes "a b c d" in capitals: as good
    every = readers(ATTENDED[0], Reader(), every_head=True, every_shift=True)
    choice = choose(ATTENDED, every, reverse=reverse, among_reverse=every)
    assert (choice.by, choice.value, choice.tried) == ("agreement", 1, 14 * 14)
    assert choice.reverse is not None
    assert choice.reader.links(ATTENDED[0]) == turn(choice.reverse.links(reverse[0])) == RIGHT[0]
    gold = [GoldLinks.all_sure(links) for links in RIGHT]
    by_gold = choose(ATTENDED, every, gold=gold, reverse=reverse, among_reverse=every)
    assert by_gold.by == "gold"
    assert by_gold.reverse is not None
    assert turn(by_gold.reverse.links(reverse[0])) == RIGHT[0]


def test_of_equals_the_usual_one_is_chosen() -> None:
    nothing: list[Links] = [frozenset()] * len(ATTENDED)
    gold = [GoldLinks.all_sure(links) for links in nothing]
    among = (Reader(layer=1, head=1, shift=1), Reader(layer=1, head=1, shift=0))  # both look at the end alone
    assert choose(ATTENDED, among, gold=gold).reader == among[0]
