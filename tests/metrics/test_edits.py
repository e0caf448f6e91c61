from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.metrics import score
from saccade.metrics.edits import characters, edit_distance, position_independent_errors

WORDS = st.lists(st.sampled_from("abc"), max_size=7)


def brute_force(one: list[str], other: list[str]) -> int:
    @cache
    def distance(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        same = one[i - 1] == other[j - 1]
        return min(distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (not same))

    return distance(len(one), len(other))


@settings(deadline=None, max_examples=200)
@given(WORDS, WORDS)
def test_edit_distance_is_minimal(one: list[str], other: list[str]) -> None:
    found = edit_distance(one, other)
    assert found == brute_force(one, other)
    assert found == edit_distance(other, one)


@settings(deadline=None, max_examples=100)
@given(WORDS, WORDS)
def test_position_independent_errors_are_at_most_the_edit_distance(one: list[str], other: list[str]) -> None:
    found = position_independent_errors(one, other)
    assert abs(len(one) - len(other)) <= found <= edit_distance(one, other)
    assert found == position_independent_errors(other, sorted(one)) == position_independent_errors(one[::-1], other)


def test_texts_longer_than_a_machine_word() -> None:
    long = [str(n % 7) for n in range(200)]
    assert edit_distance(long, [*long[:50], "x", *long[60:]]) == 10
    assert edit_distance(long, []) == edit_distance([], long) == 200


def test_the_reference_with_the_fewest_errors_is_used() -> None:
    references = ["le chat dort", "le petit chat noir dort", "un chien"]
    assert score(["le petit chat dort"], [references], metrics=["wer"])["wer"] == pytest.approx(100 / 5)
    assert score(["le chat dort"], [references], metrics=["wer"])["wer"] == 0
    assert score([""], [["", "a"]], metrics=["wer"])["wer"] == 0


@pytest.mark.parametrize(("text", "cut"), [(" a  b\n", ["a", " ", "b"]), ("", []), ("é", ["é"])])
def test_a_run_of_white_space_is_one_character(text: str, cut: list[str]) -> None:
    assert characters(text) == cut
