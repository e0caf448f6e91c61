"""Data sets on disk and in files, read by the extra; nothing is downloaded."""

import json
from pathlib import Path
from typing import Any

import pytest

from saccade.data import Selection, TextPair, open_pairs
from saccade.errors import UserError

pytestmark = pytest.mark.slow  # the extra is only there

ROWS = [{"id": n, "translation": {"en": f"the {n}", "fr": f"le {n}"}, "source": f"s {n}"} for n in range(7)]
FIELDS = ("translation.en", "translation.fr")
PAIRS = [TextPair(f"the {n}", f"le {n}") for n in range(7)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import datasets

    datasets.disable_progress_bars()
    place = tmp_path_factory.mktemp("datasets")
    rows = datasets.Dataset.from_list(ROWS)
    rows.save_to_disk(place / "disk")
    datasets.DatasetDict({"train": rows, "test": rows.select(range(2))}).save_to_disk(place / "splits")
    (place / "folder").mkdir()
    (place / "folder" / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    rows.to_parquet(place / "rows.parquet")
    return place


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)


@pytest.mark.parametrize("name", ["disk", "splits", "folder", "rows.parquet", "folder/train.jsonl"])
def test_every_local_format_is_read(name: str, place: Path) -> None:
    pairs = open_pairs(f"hf:{place / name}", fields=FIELDS)
    assert list(pairs) == list(pairs) == PAIRS
    assert list(pairs.marked((5,))) == [((n,), PAIRS[n - 1]) for n in (5, 6, 7)]
    assert pairs.digest() == open_pairs(f"hf:{place / 'disk'}", fields=FIELDS).digest()
    assert len(Selection.of(pairs)) == 7 and pairs.size() >= 0


def test_a_split_is_chosen(place: Path) -> None:
    assert list(open_pairs(f"hf:{place / 'splits'}@test", fields=FIELDS)) == PAIRS[:2]


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("splits@valid", FIELDS, "there is no split 'valid'; add @ and one of train, test"),
        ("disk", None, "disk:1: there is no 'target'; the texts there are translation.en, translation.fr, source;"),
        ("nowhere", FIELDS, "cannot be read: Couldn't find any data file"),
    ],
)
def test_errors_are_one_line(name: str, fields: Any, message: str, place: Path) -> None:
    with pytest.raises(UserError) as caught:
        list(open_pairs(f"hf:{place / name}", fields=fields))
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_a_name_is_looked_up_on_the_hub(place: Path) -> None:
    with pytest.raises(UserError, match=r"hf:nobody/nothing: cannot be read: Couldn't (reach|find)"):
        list(open_pairs("hf:nobody/nothing"))


def test_an_empty_data_set_is_refused(tmp_path: Path) -> None:
    import datasets

    datasets.Dataset.from_dict({"source": [], "target": []}).to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(UserError, match="the data set is empty"):
        list(open_pairs(f"hf:{tmp_path / 'empty.parquet'}"))
