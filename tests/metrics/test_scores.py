import json

import pytest

from saccade.errors import UserError
from saccade.metrics import Counts, score

FRENCH = ["le petit chat noir dort dans la maison .", "la fille ne voit pas le grand chien ."]
CHINESE = ["我爱你们的小狗。", "他在河岸上看书。"]


def test_a_perfect_translation_scores_100() -> None:
    scores = score(FRENCH, FRENCH)
    assert scores["bleu"] == pytest.approx(100)
    assert (scores["chrf"], scores["exact"], scores.sentences) == (100, 100, 2)


def test_scores_equal_those_of_sacrebleu() -> None:
    import sacrebleu

    hypotheses = ["le petit chien noir dort dans la maison .", "la fille voit le grand chien ."]
    scores = score(hypotheses, FRENCH)
    assert scores["bleu"] == sacrebleu.corpus_bleu(hypotheses, [FRENCH]).score
    assert scores["chrf"] == sacrebleu.corpus_chrf(hypotheses, [FRENCH]).score
    assert 0 < scores["bleu"] < 100
    assert scores["exact"] == 0


def test_signatures_describe_the_metric() -> None:
    scores = score(FRENCH, FRENCH)
    assert "tok:13a" in scores.measured["bleu"].signature
    assert "eff:no" in scores.measured["bleu"].signature
    assert "nc:6" in scores.measured["chrf"].signature
    assert json.loads(json.dumps(scores.to_dict()))["bleu_signature"] == scores.measured["bleu"].signature


def test_chinese_is_split_into_characters() -> None:
    off_by_one = ["我爱你们的小猫。", "他在河岸上看书。"]
    assert "tok:zh" in score(off_by_one, CHINESE).measured["bleu"].signature
    assert score(off_by_one, CHINESE)["bleu"] > 50
    assert score(off_by_one, CHINESE, tokenise="none")["bleu"] < 50


def test_order_matters_to_bleu() -> None:
    assert score(["dort le dans noir chat maison la petit ."], FRENCH[:1])["bleu"] < 10


def test_sentences_under_four_words_can_reach_100() -> None:
    scores = score(["je dors .", "tu cours ."], ["je dors .", "tu cours ."])
    assert scores["bleu"] == pytest.approx(100)
    assert "eff:yes" in scores.measured["bleu"].signature


def test_exact_match_ignores_white_space_at_the_ends_only() -> None:
    assert score([" a b c d\n", "a  b c d"], ["a b c d", "a b c d"])["exact"] == 50


def test_empty_output_scores_nothing() -> None:
    assert score(["", ""], FRENCH)["bleu"] == 0


def test_intervals_equal_those_of_sacrebleu() -> None:
    from sacrebleu.metrics.bleu import BLEU

    hypotheses = ["le petit chien noir dort dans la maison .", "la fille voit le grand chien ."] * 4
    measured = score(hypotheses, FRENCH * 4, metrics=["bleu", "wer"], resamples=50).measured
    bleu = BLEU(force=True)
    expected = bleu.corpus_score(hypotheses, [FRENCH * 4], n_bootstrap=50)
    assert measured["bleu"].low == pytest.approx(expected._mean - expected._ci)
    assert measured["bleu"].high == pytest.approx(expected._mean + expected._ci)
    assert measured["bleu"].signature == str(bleu.get_signature())
    assert "bs:50" in measured["wer"].signature
    assert score(hypotheses, FRENCH * 4).measured["bleu"].low is None


def test_an_interval_with_draws_that_score_0() -> None:
    measured = score([FRENCH[0], "x"], FRENCH, resamples=50).measured["bleu"]
    assert measured.low is not None and measured.high is not None and measured.low < measured.value < measured.high


def test_an_output_may_match_any_of_several_references() -> None:
    import sacrebleu

    others = ["le petit chat noir dort dans sa maison .", "la fille ne voit pas le gros chien ."]
    hypotheses = [others[0], FRENCH[1]]
    scores = score(hypotheses, [[FRENCH[0], others[0]], [FRENCH[1]]], metrics=["bleu", "exact", "wer", "ter"])
    assert scores["bleu"] == sacrebleu.corpus_bleu(hypotheses, [FRENCH, [others[0], None]]).score
    assert (scores["exact"], scores["wer"], scores["ter"]) == (100, 0, 0)
    assert "nrefs:var" in scores.measured["bleu"].signature
    assert "nrefs:2" in score(hypotheses, list(zip(FRENCH, others))).measured["bleu"].signature


def test_subsets_are_scored_from_the_counts_of_all() -> None:
    hypotheses = ["le petit chien noir dort dans la maison .", "la fille voit le grand chien .", "rien"]
    references = [*FRENCH, "non"]
    metrics = ["bleu", "chrf", "ter", "exact", "wer", "per", "cer"]
    counts = Counts(hypotheses, references, metrics=metrics)
    assert counts.scores([0, 2]) == score([hypotheses[0], "rien"], [FRENCH[0], "non"], metrics=metrics)
    assert "eff:yes" in counts.scores([2]).measured["bleu"].signature  # a part of short references alone


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
