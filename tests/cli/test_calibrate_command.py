"""`saccade calibrate`, and the confidence that `saccade translate --jsonl` then prints."""

import json
from pathlib import Path

import pytest
from running import Run

from saccade.data import TextPair
from saccade.decode import Translator, save


@pytest.fixture
def run(saccade: Run) -> Run:
    return lambda command, *others: saccade(command, "--device", "cpu", *others)


def test_calibrate_fits_and_saves_confidence(
    run: Run, learnt: Translator, pairs: list[TextPair], tmp_path: Path
) -> None:
    folder, tsv, lines = tmp_path / "model", tmp_path / "pairs.tsv", tmp_path / "lines"
    save(folder, learnt.model, learnt.vocabularies)
    wrong = [TextPair(f"zz{n} dog", "房子") for n in range(12)]
    tsv.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in [*pairs, *wrong, *pairs]), encoding="utf-8")
    lines.write_text("the cat sleeps\n\nzz99 dog\n", encoding="utf-8")
    assert json.loads(run("translate", folder, lines, "--jsonl")[1].splitlines()[0])["confidence"] is None
    code, out, _ = run("calibrate", folder, tsv)
    assert code == 0 and "tokens" in out and "sentences" in out and "before" in out
    known, blank, strange = map(json.loads, run("translate", folder, lines, "--jsonl")[1].splitlines())
    assert known["confidence"] > strange["confidence"] and blank["confidence"] is None
    assert [word for word, _ in known["word_confidences"]] == ["le", "chat", "dort"]
    saved = (folder / "config.json").read_bytes()
    tsv.write_text("a\tb\n", encoding="utf-8")
    code, out, err = run("calibrate", folder, tsv)
    assert code == 2 and out == "" and "calibration needs at least 20 pairs with text on both sides, got 1" in err
    assert (folder / "config.json").read_bytes() == saved
