"""Splitting into sentences in many scripts, and joining them again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.text import words
from saccade.text.sentences import join_sentences, split_sentences


@pytest.mark.parametrize(
    "expected",
    [
        ["The cat sleeps.", "A dog eats!", "Does it?", "Yes."],
        ["我看见房子。", "它很大！", "真的吗？", "好。"],
        ["“好。”他说。", "我走了。"],
        ["यह एक वाक्य है।", "यह दूसरा है।"],
        ["هل أنت هنا؟", "نعم، أنا هنا."],
        ["나는 집을 본다.", "고양이가 잔다."],
        ["¿Qué es?", "¡Una casa!", "«Sí.»", "Bien."],
        ["Wait…", "What?!", "“Oh.”", "Fine."],
    ],
    ids=" ".join,
)
def test_sentences_end_in_any_script(expected: list[str]) -> None:
    text = join_sentences(expected)
    assert split_sentences(text) == expected
    assert split_sentences(f"  {text}\n") == expected
    assert join_sentences(split_sentences(text)) == text


@pytest.mark.parametrize(
    "whole",
    [
        "It costs 3.50 dollars, or 1,000.25 in all.",
        "Mr. Smith saw J. S. Bach and Prof. Dr. Meyer.",
        "Das war am 3. Mai, z.B. in der Str. 5.",
        "The U.S. Senate met on Nov. 5 at 10.30.",
        "See Fig. 3 and No. 5 of www.example.com.",
        '"Stop!" he said... and "why?" she asked.',
        "Wait... what",
        "no end here",
        "",
    ],
)
def test_numbers_abbreviations_and_speech_do_not_end_a_sentence(whole: str) -> None:
    assert split_sentences(whole) == ([whole] if whole else [])


def test_some_words_are_abbreviations_only_before_a_number() -> None:
    assert split_sentences("He said no. We left. They were No. 5.") == ["He said no.", "We left.", "They were No. 5."]


def test_chinese_is_joined_without_a_space_and_korean_with_one() -> None:
    assert join_sentences(["我看见房子。", "它很大。"]) == "我看见房子。它很大。"
    assert join_sentences(["他说：“好。”", "我走。"]) == "他说：“好。”我走。"
    assert join_sentences(["고양이가 잔다", "개가 먹는다"]) == "고양이가 잔다 개가 먹는다"
    assert join_sentences(["le chat dort.", "", "il mange."]) == "le chat dort. il mange."
    assert join_sentences([]) == ""


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="aB1 .!?…。！？”)'«\u0301\u200d\ufe0f我ย।\n", max_size=30) | st.text(max_size=30))
def test_splitting_loses_only_white_space_and_splits_no_word(text: str) -> None:
    parts = split_sentences(text)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert [word for sentence in parts for word in words(sentence)] == words(text)
