"""`saccade translate --replace-unknown` and `--dictionary`."""

import json
from pathlib import Path

import pytest
import torch
from running import Run

from saccade.data import TextPair
from saccade.decode import save
from saccade.models import MODELS
from saccade.text import Policy, Vocabularies, words

SOURCE = b"the Zebra sleeps\n\nthe cat\n" * 6
DRAWN = ("--sample", "--temperature", "9", "--beam", "6", "--n-best", "6", "--jsonl")


@pytest.fixture(scope="module")
def vocabularies_of_words() -> Vocabularies:
    pairs = [TextPair("the cat sleeps", "le chat dort")]
    return Vocabularies.train(pairs, Policy(kind="word", size=60, byte_fallback=False))


def saved(folder: Path, name: str, vocabularies: Vocabularies) -> Path:
    torch.manual_seed(1)
    sizes = len(vocabularies.source), len(vocabularies.target)
    save(folder / name, MODELS[name](MODELS[name].PRESETS["tiny"], *sizes), vocabularies)
    return folder / name


def test_unknown_words_are_copied_or_looked_up(run: Run, vocabularies_of_words: Vocabularies, tmp_path: Path) -> None:
    model = saved(tmp_path, "bahdanau2014", vocabularies_of_words)
    (tmp_path / "words.tsv").write_text("".join(f"{word}\tX{word}\n" for word in ("the", "cat", "sleeps", "Zebra")))
    plain, copied, looked_up = (
        [json.loads(line) for line in run("translate", model, *DRAWN, *more, stdin=SOURCE).out.splitlines()]
        for more in ((), ("--replace-unknown",), ("--dictionary", tmp_path / "words.tsv"))
    )
    assert "⁇" in json.dumps(plain, ensure_ascii=False) and all(row["replaced"] == [] for row in plain)
    for rows, letter in ((copied, ""), (looked_up, "X")):
        assert "⁇" not in json.dumps(rows, ensure_ascii=False)
        assert any(row["replaced"] for row in rows)
        assert any(other["replaced"] for row in rows for other in row["alternatives"])
        for row in rows:
            for word in row["replaced"]:
                assert word["text"] == letter + row["source_words"][word["source_word"]]
                assert row["target_words"][slice(*word["words"])] == [word["text"]]
            assert row["target_words"] == words(row["text"])
    assert copied[1]["text"] == ""


def test_unknown_word_options_explain_a_mistake_in_one_line(
    run: Run, vocabularies_of_words: Vocabularies, tmp_path: Path
) -> None:
    fixed = saved(tmp_path, "cho2014", vocabularies_of_words)
    looking = saved(tmp_path, "luong2015", vocabularies_of_words)
    (tmp_path / "words.tsv").write_text("zebra zebre\n", encoding="utf-8")
    for model, options, message in (
        (fixed, ("--replace-unknown",), "--replace-unknown: this model reads the source as one fixed vector"),
        (looking, ("--dictionary", tmp_path / "none.tsv"), "none.tsv: no such file"),
        (looking, ("--dictionary", tmp_path / "words.tsv"), "words.tsv:1: 0 tabs"),
    ):
        done = run("translate", model, *options, stdin=SOURCE)
        assert done.code == 2 and message in done.err and done.err.count("\n") == 1, done.err
