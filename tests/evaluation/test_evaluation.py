import json

import pytest

from saccade.errors import UserError
from saccade.evaluation import Evaluation, evaluate, score

SOURCES = ["the cat sleeps", "a dog eats an apple in the black house"]
REFERENCES = ["le chat dort", "un chien mange une pomme dans la maison noire"]
HYPOTHESES = ["le chat dort", "un dog mange une pomme dans la maison"]


@pytest.fixture(scope="module")
def found() -> Evaluation:
    return evaluate(
        HYPOTHESES,
        REFERENCES,
        sources=SOURCES,
        resamples=20,
        longest_trained=6,
        counts={"le": 9, "chat": 2},
        include=[["chat"], ["maison noire"]],
        exclude=[[], ["dog"]],
        unread=[(0, 3), (3, 9)],
    )


def test_one_call_measures_everything(found: Evaluation) -> None:
    assert found.scores.measured["bleu"].value == score(HYPOTHESES, REFERENCES)["bleu"]
    assert found.scores.measured["wer"].low is not None
    assert [row.bucket.label for row in found.lengths if row.sentences] == ["1–5", "7–10"]
    assert found.lengths[0].scores is not None
    assert found.lengths[0].scores["wer"] == 0  # every metric by length
    assert {row.bucket.label for row in found.frequencies} >= {"0", "2–5"}
    assert found.constraints is not None
    assert (found.constraints.included, found.constraints.excluded) == (1, 0)
    assert found.behaviour.copied == pytest.approx(100 / 11)
    assert found.behaviour.unread == pytest.approx(25)


def test_results_convert_to_json(found: Evaluation) -> None:
    read = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert set(read) >= {"bleu", "bleu_low", "wer_signature", "behaviour", "by_length", "by_frequency", "constraints"}


def test_references_alone_are_enough() -> None:
    found = evaluate(HYPOTHESES, [[one, "autre"] for one in REFERENCES], metrics=["chrf"], resamples=0)
    assert found.lengths == ()
    assert found.constraints is None
    assert found.behaviour.copied is found.behaviour.unread is None
    assert found.to_dict()["constraints"] is None


def test_uneven_lists_are_refused() -> None:
    with pytest.raises(UserError, match="2 hypotheses and 2 references and 1 sources"):
        evaluate(HYPOTHESES, REFERENCES, sources=["one"])
