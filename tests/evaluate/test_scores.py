import json
from typing import Any

import pytest

from saccade.errors import UserError
from saccade.evaluate.scores import score, tokenisation

FRENCH = ["le petit chat noir dort dans la maison .", "la fille ne voit pas le grand chien ."]
CHINESE = ["我爱你们的小狗。", "他在河岸上看书。"]


def test_a_perfect_translation_has_all_points() -> None:
    scores = score(FRENCH, FRENCH)
    assert scores.bleu == pytest.approx(100)
    assert (scores.chrf, scores.exact, scores.sentences) == (100, 100, 2)


def test_scores_are_those_of_sacrebleu() -> None:
    import sacrebleu

    hypotheses = ["le petit chien noir dort dans la maison .", "la fille voit le grand chien ."]
    scores = score(hypotheses, FRENCH)
    assert scores.bleu == sacrebleu.corpus_bleu(hypotheses, [FRENCH]).score
    assert scores.chrf == sacrebleu.corpus_chrf(hypotheses, [FRENCH]).score
    assert 0 < scores.bleu < 100
    assert scores.exact == 0


def test_signatures_say_how_it_was_counted() -> None:
    scores = score(FRENCH, FRENCH)
    assert "tok:13a" in scores.bleu_signature
    assert "eff:no" in scores.bleu_signature
    assert "nc:6" in scores.chrf_signature
    assert json.loads(json.dumps(scores.as_dict()))["bleu_signature"] == scores.bleu_signature


def test_chinese_is_cut_into_characters() -> None:
    off_by_one = ["我爱你们的小猫。", "他在河岸上看书。"]
    assert "tok:zh" in score(off_by_one, CHINESE).bleu_signature
    assert score(off_by_one, CHINESE).bleu > 50
    assert score(off_by_one, CHINESE, tokenise="none").bleu < 50


def test_order_matters_to_bleu() -> None:
    assert score(["dort le dans noir chat maison la petit ."], FRENCH[:1]).bleu < 10


def test_sentences_under_four_words_can_reach_100() -> None:
    scores = score(["je dors .", "tu cours ."], ["je dors .", "tu cours ."])
    assert scores.bleu == pytest.approx(100)
    assert "eff:yes" in scores.bleu_signature


def test_exact_match_ignores_white_space_at_the_ends_only() -> None:
    assert score([" a b c d\n", "a  b c d"], ["a b c d", "a b c d"]).exact == 50


def test_empty_output_scores_nothing() -> None:
    assert score(["", ""], FRENCH).bleu == 0


@pytest.mark.parametrize(
    ("references", "chosen"),
    [
        (FRENCH, "13a"),
        (CHINESE, "zh"),
        (["我用 Python 3.12"], "13a"),
        (["我爱你 OK"], "zh"),
        (["東京は大きい"], "13a"),
        (["42 !"], "13a"),
    ],
)
def test_auto_chooses_by_script(references: list[str], chosen: str) -> None:
    assert tokenisation(references) == chosen


def test_a_choice_stands() -> None:
    assert tokenisation(CHINESE, "char") == "char"


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        ([], [], "empty"),
        (["a"], ["a", "b"], "1 hypotheses and 2 references"),
        ("one", ["a", "b", "c"], "one string"),
    ],
)
def test_bad_lists_are_refused(hypotheses: list[str], references: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        score(hypotheses, references)


def test_an_unknown_tokenisation_is_refused() -> None:
    unknown: Any = "moses"
    with pytest.raises(UserError, match="choose one of auto, 13a"):
        score(["a"], ["a"], tokenise=unknown)
