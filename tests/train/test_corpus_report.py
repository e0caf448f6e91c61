import pytest

from saccade.data import TextPair
from saccade.text import Tokeniser
from saccade.train.corpus_report import summarise


def test_the_summary_of_both_sides_is_as_counted_by_hand() -> None:
    pairs = [TextPair("the dog sleeps.", "犬 ok"), TextPair("the cat", "猫"), TextPair("the", "")]
    source, target = summarise(pairs)
    assert (source.mean_words, source.median_words, source.most_words, source.words_of_95_percent) == (7 / 3, 2, 4, 4)
    assert source.scripts == {"LATIN": 21 / 21} and target.scripts == {"CJK": 0.5, "LATIN": 0.5}
    assert source.different_words == 5 and source.covered == {1000: 1.0, 8000: 1.0, 32000: 1.0}
    assert source.mean_characters == 25 / 3 and source.spelling is None


def test_the_summary_has_the_share_of_the_commonest_words() -> None:
    pairs = [TextPair(f"often w{n}", "x") for n in range(2000)]
    source, target = summarise(pairs)
    assert source.different_words == 2001 and target.different_words == 1
    assert source.covered[1000] == pytest.approx((2000 + 999) / 4000) and source.covered[8000] == 1.0


def test_the_summary_has_tokens_per_word() -> None:
    tokeniser = Tokeniser.train(["the dog sleeps"] * 20, kind="word", size=300)
    source, target = summarise([TextPair("the dog", "the 犬")], (tokeniser, tokeniser))
    assert source.spelling is not None and target.spelling is not None
    assert (source.spelling.pieces_per_word, source.spelling.unknown_share) == (1.0, 0.0)
    assert target.spelling.pieces_per_word > 2 and target.spelling.unknown_share > 0.7


def test_the_summary_of_no_pairs_is_zero() -> None:
    source, _ = summarise([])
    assert source.most_words == 0 and source.scripts == {} and source.covered[1000] == 0.0
