import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data import Split, TextPair
from saccade.data.cleaning import text_key
from saccade.errors import UserError

pairs_of_few_sources = st.lists(
    st.builds(TextPair, st.sampled_from(["a", "A ", "b", "c", "d  e", "d e", ""]), st.text(min_size=1, max_size=3))
)


def same(text: str) -> str:
    return " ".join(text.casefold().split())


@settings(deadline=None, max_examples=200)
@given(pairs_of_few_sources, st.integers(0, 5), st.floats(0, 1, exclude_min=True))
def test_no_source_is_both_trained_on_and_held_out(pairs: list[TextPair], seed: int, share: float) -> None:
    try:
        split = Split.of(pairs, seed=seed, share=share)
    except UserError:
        assert len({same(p.source) for p in pairs if p.source and p.target.strip()}) < 2
        return
    full = [p for p in pairs if p.source.strip() and p.target.strip()]
    validation = [p for p in pairs if p in split]
    training = [p for p in full if p not in split]
    assert training and validation and set(validation) <= set(full)

    assert not {same(p.source) for p in training} & {same(p.source) for p in validation}


def held_out(pairs: list[TextPair], split: Split) -> int:
    return sum(pair in split for pair in pairs)


def test_a_split_has_its_size_and_depends_on_the_seed_not_the_order() -> None:
    pairs = [TextPair(f"s{n}", "t") for n in range(1000)]
    split = Split.of(pairs, seed=3)
    assert held_out(pairs, split) == 50 and held_out(pairs, Split.of(pairs, share=0.5, most=20)) == 20
    assert Split.of(pairs[::-1], seed=3) == split
    other = Split.of(pairs, seed=4)
    assert other.held_out != split.held_out and held_out(pairs, other) == 50


def test_splitting_many_pairs_needs_no_more_memory_than_few() -> None:
    """Only the smallest keys are in memory, and the choice is the same as from all keys."""
    pairs = [TextPair(f"s{n % 7000}", "t") for n in range(20_000)]
    split = Split.of(pairs, share=0.5, most=60)
    assert split.held_out == frozenset(sorted({text_key(pair.source, 1) for pair in pairs})[: len(split.held_out)])
    assert 55 <= held_out(pairs, split) <= 60


def test_a_source_of_most_pairs_stays_in_training() -> None:
    pairs = [TextPair("often", "t")] * 99 + [TextPair("rare", "t")]
    for seed in range(8):
        assert held_out(pairs, split := Split.of(pairs, seed=seed)) == 1 and TextPair("rare", "t") in split


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([TextPair("a", "b")], r"one.tsv: 1 pair; expected at least 2 sources.* validation file"),
        ([TextPair("a", "b")] * 3, r"one.tsv: 3 pairs, all of one source; expected at least 2 sources"),
        ([TextPair("a", "")] * 3, r"one.tsv: 0 pairs;"),
    ],
)
def test_too_few_different_pairs_are_refused(pairs: list[TextPair], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Split.of(pairs, name="one.tsv")
