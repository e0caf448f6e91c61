import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade import metrics
from saccade.errors import UserError
from saccade.metrics import METRICS, choose_tokenisation, make_metrics, score

FRENCH = ["le petit chat noir dort dans la maison .", "la fille ne voit pas le grand chien ."]
CHINESE = ["我爱你们的小狗。", "他在河岸上看书。"]
OWN = ["exact", "wer", "per", "cer"]
LINES = st.lists(st.lists(st.sampled_from(["a", "b", "cd", "."]), max_size=5).map(" ".join), min_size=1, max_size=4)


def test_error_rates_by_hand() -> None:
    scores = score(["the cat sat on mat"], ["the cat sat on the mat"], metrics=OWN)
    assert scores["wer"] == scores["per"] == pytest.approx(100 / 6)
    assert scores["cer"] == pytest.approx(100 * 4 / 22)
    swapped = score(["cat the sat"], ["the cat sat"], metrics=OWN)
    assert (swapped["wer"], swapped["per"]) == (pytest.approx(200 / 3), 0)


@settings(deadline=None, max_examples=60)
@given(LINES, st.data())
def test_error_rates_are_0_only_for_exact_outputs(lines: list[str], data: st.DataObject) -> None:
    perfect = score(lines, lines, metrics=OWN)
    assert [perfect[name] for name in OWN] == [100, 0, 0, 0]
    others = data.draw(st.lists(LINES.map(" ".join), min_size=len(lines), max_size=len(lines)))
    found = score(others, lines, metrics=OWN)
    assert found["per"] <= found["wer"] or not any(line.strip() for line in lines)
    assert (found["cer"] == 0) == ([" ".join(o.split()) for o in others] == [" ".join(o.split()) for o in lines])


def test_any_output_is_wrong_against_a_blank_reference() -> None:
    assert score(["a"], [""], metrics=["wer"])["wer"] == 100
    assert score([""], [""], metrics=["wer", "cer"])["wer"] == 0


def test_signatures_name_the_unit_and_the_version() -> None:
    signature = score(["a"], ["a"], metrics=["cer"]).measured["cer"].signature
    assert "nrefs:1" in signature
    assert "unit:character" in signature
    assert "version:saccade-" in signature


def test_chinese_ter_counts_characters() -> None:
    off_by_one = ["我爱你们的小猫。", "他在河岸上看书。"]
    assert score(off_by_one, CHINESE, metrics=["ter"])["ter"] < 20


def test_better_outputs_score_better() -> None:
    worse, better = ["le chien mange .", "la fille ."], FRENCH
    for name, about in METRICS.items():
        if not name.startswith("rouge"):
            gain = score(better, FRENCH, metrics=[name])[name] - score(worse, FRENCH, metrics=[name])[name]
            assert (gain > 0) == about.higher_is_better


def test_unknown_metrics_are_refused() -> None:
    with pytest.raises(UserError, match="there is no metric 'blue'; did you mean 'bleu'"):
        make_metrics(["blue"], FRENCH)
    one_name: Any = "bleu"
    for names in (one_name, []):
        with pytest.raises(UserError, match="a list of names"):
            make_metrics(names, FRENCH)


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
def test_auto_chooses_the_tokenisation_by_script(references: list[str], chosen: str) -> None:
    assert choose_tokenisation(references) == chosen


def test_a_given_tokenisation_is_kept() -> None:
    assert choose_tokenisation(CHINESE, "char") == "char"


def test_an_unknown_tokenisation_is_refused() -> None:
    unknown: Any = "moses"
    with pytest.raises(UserError, match="choose one of auto, 13a"):
        choose_tokenisation(["a"], unknown)


def test_phones_are_characters_where_nothing_separates_them() -> None:
    scores = score(["kat", "dok"], ["kat", "dog"], metrics=["word_error", "phone_error"])
    assert (scores["word_error"], scores["phone_error"]) == (50, pytest.approx(100 / 6))
    assert "unit:character" in scores.measured["phone_error"].signature


def test_only_the_adapter_imports_sacrebleu() -> None:
    package = Path(metrics.__file__).parents[1]
    sources = {path.name: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    users = {name for name, text in sources.items() if re.search(r"^\s*(from|import) sacrebleu", text, re.MULTILINE)}
    assert users == {"sacrebleu_adapter.py"}
