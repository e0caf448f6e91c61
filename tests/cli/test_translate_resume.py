"""An interrupted `saccade translate` continues to the same bytes, by the same command only."""

import gzip
import json
import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from running import Done, Run

from saccade.decode import Translator, save
from saccade.journal import Journal
from saccade.models import MODELS, Seq2Seq
from saccade.text import Vocabularies

sys.path.insert(0, str(Path(__file__).parents[1] / "train"))
from training_processes import KillPoint, run_saccade

TEXTS = [
    "the cat sleeps",
    "",
    "a dog eats. it sleeps. it eats. a cat",
    "I see the house",
    "it sleeps",
    "a big dog",
    "we",
]
VARIANTS = {
    "text": (),
    "samples": ("--sample", "--temperature", "3", "--beam", "2", "--n-best", "2"),
    "n-best and trees": ("--n-best", "3", "--beam", "3", "--tree", "{folder}/trees.jsonl"),
    "objects and figures": ("--jsonl", "--plot", "{folder}/see.svg"),
    "constraints": ("--jsonl", "--constraints", "{inputs}/asked.jsonl"),
}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "in.txt").write_text("".join(f"{text}\n" for text in TEXTS), encoding="utf-8")
    constraints = [{"include": ["chien"]}, None, None, {"exclude": ["房"]}, {"prefix": "le"}, None, {}]
    lines = ("" if item is None else json.dumps(item) for item in constraints)
    (folder / "asked.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def short_sighted(learnt: Translator, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It was trained on no more than five words, so that one of the lines is translated in parts."""
    folder = tmp_path_factory.mktemp("models") / "short-sighted"
    save(folder, learnt.model, learnt.vocabularies, extra={"longest_trained": 5})
    return folder


def command(model: Path, inputs: Path, folder: Path, variant: str) -> list[str]:
    folder.mkdir(exist_ok=True)
    options = [option.format(folder=folder, inputs=inputs) for option in VARIANTS[variant]]
    return [
        *("translate", str(model), str(inputs / "in.txt"), "--out", str(folder / "out.txt")),
        *("--chunk", "2", "--device", "cpu", *options),
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def killed(arguments: list[str], folder: Path, moment: int) -> bool:
    """Whether the run lived as long as that."""
    result = run_saccade(*arguments, out=folder, kill=KillPoint(operation=moment))
    assert result.code in (0, -signal.SIGKILL), result.stderr
    return result.code != 0


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_translation_killed_at_any_moment_continues_to_the_same_bytes(
    run: Run,
    short_sighted: Path,
    inputs: Path,
    tmp_path: Path,
    variant: str,
) -> None:
    folder, whole = tmp_path / "folder", tmp_path / "whole"  # one name for all runs: it is a part of the command
    arguments = command(short_sighted, inputs, folder, variant)
    assert run(*arguments).code == 0
    folder.rename(whole)
    expected = contents(whole)
    step = 2 if variant == "text" else 5  # each moment costs the start of a process
    for moment in count(1, step):
        folder.mkdir()
        lived = not killed(arguments, folder, moment)
        if not lived:
            assert not (folder / "out.txt").exists() or not (folder / "out.txt.unfinished").exists()
            done = run(*arguments)
            assert done.code == 0, done.err
        assert contents(folder) == expected, f"killed at {moment}"
        folder.rename(tmp_path / f"killed-{moment}")
        if lived:
            break
    assert moment > 5 * step


@pytest.mark.slow
def test_translation_killed_repeatedly_continues(run: Run, short_sighted: Path, inputs: Path, tmp_path: Path) -> None:
    folder, lives = tmp_path / "folder", 0
    arguments = [*command(short_sighted, inputs, folder, "n-best and trees"), "--chunk", "1"]
    assert run(*arguments).code == 0
    whole = contents(folder)
    for path in folder.iterdir():
        path.unlink()
    while killed(arguments, folder, 24):  # enough for the locks and for one more chunk
        lives += 1
        assert lives < 20
    assert lives >= 2 and contents(folder) == whole


@pytest.fixture
def interrupted(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command, ended by Ctrl-C when its second chunk is done."""

    def run_to_there(*arguments: str | Path, stdin: bytes = b"") -> Done:
        commit, count = Journal.commit, 0

        def interrupt(journal: Journal, lines: int) -> None:
            nonlocal count
            commit(journal, lines)
            count += 1
            if count == 2:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Journal, "commit", interrupt)
            return run(*arguments, stdin=stdin)

    return run_to_there


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_translation_by_every_model_continues_after_ctrl_c(
    name: str,
    run: Run,
    interrupted: Run,
    untrained: Callable[..., Seq2Seq[Any, Any]],
    vocabularies: Vocabularies,
    inputs: Path,
    tmp_path: Path,
) -> None:
    save(tmp_path / "model", untrained(name), vocabularies, extra={"longest_trained": 5})
    arguments = [*command(tmp_path / "model", inputs, tmp_path / "folder", "text"), "--jsonl", "--longest", "5"]
    assert run(*arguments).code == 0
    whole = contents(tmp_path / "folder")
    (tmp_path / "folder" / "out.txt").unlink()
    done = interrupted(*arguments)
    assert done.code == 1 and "4 lines finished and saved in" in done.err and "the same command continues" in done.err
    assert sorted(contents(tmp_path / "folder")) == ["out.txt.unfinished", "out.txt.unfinished.json"]
    done = run(*arguments)
    assert done.code == 0 and "continuing after 4 lines" in done.err
    assert contents(tmp_path / "folder") == whole


def test_different_command_does_not_continue_a_translation(
    run: Run,
    interrupted: Run,
    model_folder: Path,
    short_sighted: Path,
    inputs: Path,
    tmp_path: Path,
) -> None:
    arguments = command(model_folder, inputs, tmp_path / "folder", "text")
    assert interrupted(*arguments).code == 1
    left = contents(tmp_path / "folder")
    other = [*arguments[:1], str(short_sighted), *arguments[2:]]
    for changed, message in (
        ([*arguments, "--beam", "2"], "--beam was 5, is 2; type the same command"),
        ([*arguments, "--sample", "--seed", "3", "--n-best", "2", "--jsonl"], "(and 2 more)"),
        (other, "model was"),
        ([*arguments, "--chunk", "3"], "--chunk was 2, is 3"),
    ):
        done = run(*changed)
        assert done.code == 2 and message in done.err and "--restart" in done.err and done.err.count("\n") == 1, (
            done.err
        )
        assert contents(tmp_path / "folder") == left
    assert run(*other, "--restart").code == 0
    assert sorted(contents(tmp_path / "folder")) == ["out.txt"]


def test_different_weights_or_lines_do_not_continue_a_translation(
    run: Run,
    interrupted: Run,
    learnt: Translator,
    inputs: Path,
    tmp_path: Path,
    vocabularies: Vocabularies,
    untrained: Callable[..., Seq2Seq[Any, Any]],
) -> None:
    model, source = tmp_path / "model", tmp_path / "in.txt"
    save(model, learnt.model, learnt.vocabularies)
    source.write_bytes((inputs / "in.txt").read_bytes())
    arguments = command(model, tmp_path, tmp_path / "folder", "text")
    assert interrupted(*arguments).code == 1
    source.write_text("\n".join(["the dog sleeps", *TEXTS[1:]]), encoding="utf-8")
    done = run(*arguments)
    assert done.code == 2 and "made from other lines: the first 4" in done.err.splitlines()[-1]
    source.write_text("\n".join([*TEXTS, "one more"]), encoding="utf-8")  # those that are done are the same
    save(model, untrained("bahdanau2014"), vocabularies)
    done = run(*arguments)
    assert done.code == 2 and "model was" in done.err
    save(model, learnt.model, learnt.vocabularies)
    assert run(*arguments).code == 0
    assert len((tmp_path / "folder" / "out.txt").read_text(encoding="utf-8").splitlines()) == len(TEXTS) + 1


def test_translation_of_standard_input_continues(
    run: Run, interrupted: Run, model_folder: Path, tmp_path: Path
) -> None:
    texts = "".join(f"{text}\n" for text in TEXTS).encode()
    arguments = ("translate", model_folder, "-", "--chunk", "2", "--out", tmp_path / "out.txt")
    assert interrupted(*arguments, stdin=texts).code == 1
    assert "made from other lines" in run(*arguments, stdin=b"it sleeps\n" * 7).err
    assert run(*arguments, stdin=gzip.compress(texts)).code == 0
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == run("translate", model_folder, stdin=texts).out


def test_unfinished_file_of_another_program_is_not_overwritten(run: Run, model_folder: Path, tmp_path: Path) -> None:
    left = tmp_path / "out.txt.unfinished"
    left.write_text("mine\n", encoding="utf-8")
    done = run("translate", model_folder, "--out", tmp_path / "out.txt", stdin=b"it sleeps\n")
    assert done.code == 2 and "there is no record of its command" in done.err
    assert contents(tmp_path) == {left.name: b"mine\n"}
    assert run("translate", model_folder, "--out", tmp_path / "out.txt", "--restart", stdin=b"it sleeps\n").code == 0
    assert contents(tmp_path) == {"out.txt": b"il dort\n"}


def test_truncated_unfinished_file_is_refused(
    run: Run,
    interrupted: Run,
    model_folder: Path,
    inputs: Path,
    tmp_path: Path,
) -> None:
    arguments = command(model_folder, inputs, tmp_path / "folder", "text")
    assert interrupted(*arguments).code == 1
    os.truncate(tmp_path / "folder" / "out.txt.unfinished", 3)
    done = run(*arguments)
    assert done.code == 2 and "shorter than the" in done.err and "Traceback" not in done.err
