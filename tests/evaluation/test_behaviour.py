import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.evaluation.evaluation import measure_behaviour, repeated_words, unread_words

WORDS = st.lists(st.sampled_from("abcdef"), max_size=12)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("la la la maison", 2),
        ("le chat le chat dort", 2),
        ("a b c d a b c d", 4),
        ("a b c d e a b c d e", 0),  # five words are no loop yet
        ("le chat et le chien", 0),
        ("", 0),
    ],
)
def test_repeated_words_by_hand(text: str, count: int) -> None:
    assert repeated_words(text.split()) == count


@settings(deadline=None, max_examples=100)
@given(WORDS)
def test_doubling_a_text_repeats_at_least_half(text: list[str]) -> None:
    assert 0 <= repeated_words(text) <= max(0, len(text) - 1)
    assert repeated_words(text * 2, longest=12) >= len(text)


def test_a_perfect_output_has_no_faults() -> None:
    texts = ["le chat dort .", "un chien mange ."]
    found = measure_behaviour(texts, texts, sources=["the cat sleeps .", "a dog eats ."])
    assert (found.length_ratio, found.short, found.repeated, found.repeated_beyond, found.copied) == (1, 0, 0, 0, 0)
    assert found.unread is None


def test_each_fault_is_measured() -> None:
    found = measure_behaviour(
        ["le cat sleeps .", "un", "le chat le chat le chat"],
        [["le chat dort ."], ["un chien mange une pomme ."], ["le chat dort", "le chat"]],
        sources=["the cat sleeps .", "a dog eats an apple .", "the cat sleeps"],
        unread=[(1, 4), (3, 5), (0, 3)],
    )
    assert found.copied == pytest.approx(100 * 2 / 11)  # cat and sleeps; the full stop is the reference's too
    assert found.short == pytest.approx(100 / 3)
    assert found.repeated == pytest.approx(100 * 4 / 11)
    assert found.repeated_beyond == pytest.approx(100 * 3 / 8)  # of eight pairs: (le, chat) twice more, (chat, le) once
    assert found.length_ratio == pytest.approx(11 / (4 + 6 + 3))
    assert found.unread == pytest.approx(100 * 4 / 12)


def test_punctuation_is_not_copied_though_a_name_with_a_digit_is() -> None:
    """Punctuation is the same in many languages."""
    found = measure_behaviour(["le chat ; dort – ! R2D2"], ["le chat dort"], sources=["the cat ; sleeps – ! R2D2"])
    assert found.copied == pytest.approx(100 / 7)


def test_repetition_in_the_reference_is_natural() -> None:
    found = measure_behaviour(["hear , hear , hear !"], ["hear , hear , hear !"])
    assert found.repeated == found.repeated_in_references > 0
    assert found.repeated_beyond == 0


def test_half_the_words_are_enough() -> None:
    assert measure_behaviour(["a b", "a"], ["a b c d", "a b c"]).short == 50


def test_empty_outputs_are_short() -> None:
    found = measure_behaviour(["", ""], ["a b", "c"], sources=["x", "y"])
    assert (found.short, found.length_ratio, found.repeated, found.copied) == (100, 0, 0, 0)


def test_unread_source_words_are_counted() -> None:
    weights = np.array([[0.9, 0.06, 0.04], [0.8, 0.16, 0.04]])
    assert unread_words(weights) == (1, 3)
    assert unread_words(np.zeros((0, 2))) == (2, 2)
