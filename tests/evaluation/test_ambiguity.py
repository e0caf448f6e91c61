import pytest

from saccade.errors import UserError
from saccade.evaluation.breakdowns import AmbiguousWord, by_distance, judge_sense


def bank(distance: int) -> AmbiguousWord:
    return AmbiguousWord(right=("rive", "berge"), wrong=("banque", "banques"), distance=distance)


@pytest.mark.parametrize(
    ("hypothesis", "verdict"),
    [
        ("il pêche sur la rive .", "right"),
        ("La Berge est verte .", "right"),
        ("il dort à la banque .", "wrong"),
        ("la banque est sur la rive .", "wrong"),
        ("il arrive .", "neither"),
        ("", "neither"),
    ],
)
def test_senses_are_judged_by_whole_words(hypothesis: str, verdict: str) -> None:
    assert judge_sense(hypothesis, bank(1)) == verdict


def test_a_form_of_several_words_must_be_contiguous() -> None:
    item = AmbiguousWord(right=["河岸"], wrong=["银行"], distance=3)
    assert judge_sense("他在河岸上。", item) == "right"
    assert judge_sense("他在银行里。", item) == "wrong"
    assert judge_sense("河的右岸", item) == "neither"


def test_rows_count_every_item_once_beside_chance_and_control() -> None:
    items = [bank(-2), bank(5), bank(7), bank(30)]
    rows = by_distance(
        ["la rive", "la banque", "le pont", "la rive"], items, control=["la rive", "la rive", "", "la banque"]
    )
    assert [(row.bucket.label, row.items, row.right, row.wrong, row.neither) for row in rows] == [
        ("1–5", 2, 1, 1, 0),
        ("6–10", 1, 0, 0, 1),
        ("11–15", 0, 0, 0, 0),
        ("16–20", 0, 0, 0, 0),
        ("21+", 1, 1, 0, 0),
    ]
    assert [row.accuracy for row in rows] == [0.5, 0, None, None, 1]
    assert [row.chance for row in rows] == [0.5, 0.5, None, None, 0.5]
    assert [row.control for row in rows] == [1, 0, None, None, 0]
    assert rows[0].to_dict()["bucket"] == "1–5"


def test_no_edges_give_one_row() -> None:
    (row,) = by_distance(["la rive", "la banque"], [bank(1), bank(40)], edges=())
    assert (row.items, row.accuracy, row.control) == (2, 0.5, None)


@pytest.mark.parametrize(
    ("right", "wrong"), [("rive", ("banque",)), ((), ("banque",)), (("rive", " "), ()), (("A",), ("a",))]
)
def test_bad_forms_are_refused(right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"forms must|right and wrong at once"):
        AmbiguousWord(right=right, wrong=wrong, distance=1)


def test_uneven_lists_are_refused() -> None:
    with pytest.raises(UserError, match="1 hypotheses and 1 items and 2 control"):
        by_distance(["a"], [bank(1)], control=["a", "b"])
