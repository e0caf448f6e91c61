"""Which pairs are left out, why, and in what order; and that cleaning twice changes nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data import Cleaning, ListedPairs, Selection, TextPair, Verdict

ALL = Cleaning(control=True, identical=True, script=0.5, most_words=7, ratio=3.0, duplicates=True)

ENGLISH = [TextPair("the dog sleeps", "собака спит"), TextPair("a cat", "кошка"), TextPair("no letters: 42", "42!")]
CASES = {
    Verdict.KEPT: TextPair("two dogs", "две собаки"),
    Verdict.EMPTY: TextPair("  ", "пусто"),
    Verdict.CONTROL: TextPair("a \x07bell", "звонок"),
    Verdict.IDENTICAL: TextPair("same ", " same"),
    Verdict.SCRIPT: TextPair("собака", "собака!"),
    Verdict.WORDS: TextPair("one two three four five six seven eight", "раз два три четыре пять"),
    Verdict.RATIO: TextPair("one two three four five six seven", "раз два"),
    Verdict.DUPLICATE: ENGLISH[0],
}


@pytest.mark.parametrize("verdict", CASES, ids=lambda verdict: verdict.name)
def test_each_rule_leaves_out_its_pair(verdict: Verdict) -> None:
    selection = Selection.of(ListedPairs([*ENGLISH, *ENGLISH[1:], CASES[verdict]]), ALL)
    assert selection.verdicts.tolist() == [0, 0, 0, Verdict.DUPLICATE, Verdict.DUPLICATE, verdict]
    assert Selection.of(ListedPairs([*ENGLISH, CASES[verdict]])).verdicts[-1] in (
        Verdict.KEPT,
        Verdict.EMPTY,
    )  # by default


@pytest.mark.parametrize(
    ("cleaning", "pair"),
    [
        (Cleaning(most_words=3), TextPair("one two three", "a b")),
        (Cleaning(ratio=1.5), TextPair("one two three", "a b")),
        (Cleaning(script=0.5, source_scripts=("LATIN",), target_scripts=("GREEK",)), TextPair("abда", "ναι")),
    ],
    ids=["words", "ratio", "script"],
)
def test_a_pair_exactly_at_a_limit_is_kept(cleaning: Cleaning, pair: TextPair) -> None:
    assert Selection.of(ListedPairs([pair]), cleaning).verdicts.tolist() == [Verdict.KEPT]


def test_the_ratio_of_words_does_not_judge_single_words() -> None:
    """Else most of a pronunciation dictionary would be left out."""
    pairs = [TextPair("hello", "HH AH0 L OW1"), TextPair("extraordinary", "IH0 K S T R AO1 R D AH0 N EH2 R IY0")]
    offered = Cleaning(control=True, identical=True, script=0.5, ratio=3.0, duplicates=True)
    assert Selection.of(ListedPairs(pairs), offered).verdicts.tolist() == [Verdict.KEPT, Verdict.KEPT]


def test_the_report_has_counts_and_first_lines() -> None:
    pairs = [*ENGLISH, *CASES.values(), *[CASES[Verdict.CONTROL]] * 6]
    report = Selection.of(ListedPairs(pairs), ALL).report()
    assert report.kept == 4
    assert str(report) == (
        "kept 4 of 17 pairs; left out 1 with an empty side (line 5); "
        "left out 7 with control characters (lines 6, 12, 13, 14, 15, …); "
        "left out 1 with two identical sides (line 7); "
        "left out 1 in a script other than Latin to Cyrillic (line 8); "
        "left out 1 with more than 7 words on a side (line 9); "
        "left out 1 with more than 3.0 times as many words on one side (line 10); left out 1 repeated (line 11)"
    )


def test_a_broken_encoding_is_left_out_and_white_space_is_not() -> None:
    broken = [TextPair("caf\ufffd", "x"), TextPair("a\tb\nc\r", "x"), TextPair("a\u200bb é", "x")]
    assert Selection.of(ListedPairs(broken), Cleaning(control=True)).verdicts.tolist() == [Verdict.CONTROL, 0, 0]


def test_scripts_are_given_or_found_and_japanese_has_several() -> None:
    given_scripts = Cleaning(script=0.9, source_scripts=("GREEK",), target_scripts=("LATIN",))
    pairs = [TextPair("ναι", "yes"), TextPair("yes", "yes"), TextPair("ναι yes", "yes")]
    assert Selection.of(ListedPairs(pairs), given_scripts).verdicts.tolist() == [0, Verdict.SCRIPT, Verdict.SCRIPT]
    japanese = [
        TextPair("yes", "東京タワーへ"),
        TextPair("no", "ひらがな"),
        TextPair("so", "漢字"),
        TextPair("hm", "latin"),
    ]
    assert Selection.of(ListedPairs(japanese), Cleaning(script=0.5)).verdicts.tolist() == [0, 0, 0, Verdict.SCRIPT]


texts = st.lists(st.sampled_from(["a", "dog", "да", "нет", " ", "  ", "7", ".", "犬", "\x07", "\ufffd", "é"])).map(
    "".join
)
cleanings = st.builds(
    Cleaning,
    control=st.booleans(),
    identical=st.booleans(),
    script=st.none() | st.sampled_from([0.5, 0.8, 1.0]),
    most_words=st.none() | st.integers(1, 5),
    ratio=st.none() | st.sampled_from([1.0, 2.0, 3.5]),
    duplicates=st.booleans(),
)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.builds(TextPair, texts, texts), min_size=1, max_size=25), cleanings)
def test_cleaning_twice_changes_nothing(pairs: list[TextPair], cleaning: Cleaning) -> None:
    first = Selection.of(ListedPairs(pairs), cleaning)
    selected = [pair for _, pair in first.selected()]
    assert len(selected) + sum(group.pairs for group in first.report().left_out) == len(pairs)
    if selected:
        again = Selection.of(ListedPairs(selected), cleaning)
        assert [pair for _, pair in again.selected()] == selected and again.report().left_out == ()
    if cleaning.duplicates:
        assert len(selected) == len(set(selected))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"script": 0.2}, "script must be from 0.5 to 1"),
        ({"source_scripts": ("LATIN",)}, "set script = 0.5"),
        ({"most_words": 0}, "most_words must be from 1"),
        ({"ratio": 0.5}, "ratio must be at least 1"),
    ],
)
def test_wrong_options_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Cleaning(**wrong)
