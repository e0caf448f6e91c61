import pytest

from saccade.errors import UserError
from saccade.evaluation.breakdowns import by_length
from saccade.metrics import Counts, score

SOURCES = ["a b c d", "a b c d e", " ".join("abcdefghijkl"), " ".join("abcdefghijkl") + " m", "a " * 90]
REFERENCES = [source.upper() for source in SOURCES]


def test_each_bucket_has_the_scores_of_its_sentences() -> None:
    hypotheses = [*REFERENCES[:2], *["Z Z Z Z"] * 3]
    rows = by_length(SOURCES, Counts(hypotheses, REFERENCES))
    first, third, last = rows[0], rows[2], rows[-1]
    assert [row.sentences for row in rows] == [2, 0, 2, 0, 0, 0, 0, 0, 1]
    assert (first.bucket.label, third.bucket.label, last.bucket.label) == ("1–5", "11–15", "81+")
    assert first.scores == score(hypotheses[:2], REFERENCES[:2])
    assert third.scores is not None
    assert third.scores["exact"] == 0
    assert rows[1].scores is None


def test_the_longest_training_length_is_an_edge() -> None:
    rows = by_length(SOURCES, Counts(REFERENCES, REFERENCES), edges=(10, 20), longest_trained=12)
    assert [(row.bucket.label, row.beyond) for row in rows] == [
        ("1–10", False),
        ("11–12", False),
        ("13–20", True),
        ("21+", True),
    ]
    assert [row.sentences for row in rows] == [2, 1, 1, 1]


def test_the_longest_length_of_training_is_not_beyond_it() -> None:
    rows = by_length(SOURCES, Counts(REFERENCES, REFERENCES), edges=(10, 20), longest_trained=11)
    assert [(row.bucket.label, row.beyond) for row in rows][:3] == [("1–10", False), ("11", False), ("12–20", True)]


def test_an_empty_source_is_counted() -> None:
    rows = by_length(["", "a"], Counts(["", "a"], ["", "a"]), edges=(5,))
    assert [(row.bucket.label, row.sentences) for row in rows] == [("0–5", 2)]


def test_all_buckets_share_one_tokenisation() -> None:
    references = ["ok", "我们都很喜欢在河岸上看书。"]
    rows = by_length(["a", "a b c d e f"], Counts(references, references))
    assert all("tok:zh" in row.scores.measured["bleu"].signature for row in rows if row.scores)


def test_rows_convert_to_json() -> None:
    row, empty = by_length(SOURCES[:1], Counts(REFERENCES[:1], REFERENCES[:1]), edges=(5, 10), longest_trained=5)
    assert row.to_dict()["words"] == "1–5"
    assert row.to_dict()["bleu"] == pytest.approx(100)
    assert empty.to_dict() == {"words": "6–10", "beyond_training": True, "sentences": 0}


def test_uneven_lists_are_refused() -> None:
    with pytest.raises(UserError, match="5 sources and 4 hypotheses"):
        by_length(SOURCES, Counts(REFERENCES[:-1], REFERENCES[:-1]))
