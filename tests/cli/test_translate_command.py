"""`saccade translate`: lines, pipes, files, figures, the interactive mode and mistakes."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from running import Done, Run

from saccade.cli import main
from saccade.data import TextPair
from saccade.decode import Translation, Translator, file_translation, save
from saccade.models import Seq2Seq
from saccade.text import Vocabularies


@pytest.fixture
def fixed_vector(tmp_path: Path, untrained: Callable[..., Seq2Seq[Any, Any]], vocabularies: Vocabularies) -> Path:
    save(tmp_path / "fixed", untrained("cho2014"), vocabularies)
    return tmp_path / "fixed"


def test_translate_writes_one_line_per_line(run: Run, model_folder: Path) -> None:
    done = run("translate", model_folder, "-", stdin=b"the cat sleeps\n\n \nI see the house\r\nit sleeps")
    assert done == Done(0, "le chat dort\n\n\n我看见房子\nil dort\n", "")
    assert run("translate", model_folder, stdin=b"") == Done(0, "", "")


def test_translate_reads_and_writes_files(run: Run, model_folder: Path, tmp_path: Path, pairs: list[TextPair]) -> None:
    source, out = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
    out.write_text("old", encoding="utf-8")
    assert run("translate", model_folder, source, "--out", out, "--beam", "2") == Done(0, "", "")
    assert out.read_text(encoding="utf-8") == "".join(f"{pair.target}\n" for pair in pairs)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]


def test_translate_prints_jsonl(run: Run, model_folder: Path) -> None:
    done = run("translate", model_folder, "--jsonl", "--n-best", "3", stdin=b"we see the black house\n\n")
    first, blank = map(json.loads, done.out.splitlines())
    assert first["line"] == 1 and first["text"] == "我们看见黑房子" and len(first["alternatives"]) == 2
    assert {target for _, target in first["alignment"]} == set(range(7))
    assert blank["line"] == 2 and blank["text"] == "" and blank["tokens"] == [] and blank["alignment"] == []


def test_translate_prints_no_alignment_without_attention(run: Run, fixed_vector: Path) -> None:
    done = run("translate", fixed_vector, "--jsonl", "--beam", "1", stdin=b"it\n")
    assert json.loads(done.out)["alignment"] is None


def test_translate_explains_its_fast_paths(run: Run, model_folder: Path) -> None:
    done = run("translate", model_folder, "--explain", "--include", "dort", stdin=b"it sleeps\n")
    assert done.out == "il dort\n"
    assert "saccade: no step waits for the host: no, constraints are checked by the host at every step\n" in done.err
    assert all(line.startswith("saccade: ") for line in done.err.splitlines()) and len(done.err.splitlines()) == 8
    assert done.err.startswith("saccade: CTranslate2: no, CTranslate2 has no constraints on words\n")


def test_translate_prints_n_best(run: Run, model_folder: Path) -> None:
    lines = run("translate", model_folder, "--n-best", "2", stdin=b"it sleeps\nthe dog\n").out.splitlines()
    rows = [line.split("\t") for line in lines]
    assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    assert rows[0][2] == "il dort" and float(rows[0][1]) > float(rows[1][1])


def test_translate_samples_depend_on_the_seed(run: Run, model_folder: Path) -> None:
    def drawn(seed: int) -> str:
        options = ("--sample", "--temperature", "5", "--seed", str(seed))
        return run("translate", model_folder, *options, stdin=b"it sleeps\nit sleeps\n").out

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(set(drawn(1).rstrip("\n").split("\n"))) == 2


def test_translate_prints_the_heatmap_after_its_line(run: Run, model_folder: Path) -> None:
    lines = run("translate", model_folder, "--heatmap", stdin=b"the cat sleeps\n\nit sleeps\n").out.splitlines()
    assert lines[0] == "le chat dort" and lines[1].split() == ["the", "cat", "sleeps"]
    assert [line.split()[0] for line in lines[2:5]] == ["le", "chat", "dort"]
    assert lines[5:7] == ["", "il dort"]


def test_translate_heatmap_shows_letters_for_a_character_model(run: Run, speller_folder: Path) -> None:
    lines = run("translate", speller_folder, "--heatmap", stdin=b"badge\n").out.splitlines()
    assert lines[:2] == ["BADGE", "     b    a    d    g    e"] and [line[0] for line in lines[2:7]] == [*"BADGE"]
    lines = run("translate", speller_folder, "--heatmap", "--by", "word", stdin=b"badge\n").out.splitlines()
    assert lines[0] == "BADGE" and lines[1].split() == ["badge"]
    row = json.loads(run("translate", speller_folder, "--jsonl", stdin=b"fed\n").out)
    assert (row["unit"], row["alignment"]) == ("piece", [[0, 0], [1, 1], [2, 2]])
    row = json.loads(run("translate", speller_folder, "--jsonl", "--by", "word", stdin=b"fed\n").out)
    assert (row["unit"], row["alignment"]) == ("word", [[0, 0]])
    done = run("translate", speller_folder, "--by", "letter", stdin=b"fed\n")
    assert done.code == 2 and done.err.count("\n") == 1 and "--by must be auto, piece or word, got 'letter'" in done.err


def test_translate_reports_progress_within_a_long_line(
    run: Run, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_translation, "SECONDS_BETWEEN_MESSAGES", 0.0)
    done = run("translate", model_folder, "--beam", "1", "--engine", "torch", stdin=b"the cat sleeps\n")
    assert done.out == "le chat dort\n"
    first, *_, last = done.err.splitlines()
    assert first.startswith("saccade: a long text: 1 token written, of at most ")
    assert len(done.err.splitlines()) == int(last.split()[4]) > 1
    monkeypatch.setattr(file_translation, "SECONDS_BETWEEN_MESSAGES", 10.0)
    assert run("translate", model_folder, stdin=b"the cat sleeps\n").err == ""


def test_translate_announces_a_long_line_before_translating(
    run: Run,
    untrained: Callable[..., Seq2Seq[Any, Any]],
    vocabularies: Vocabularies,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save(tmp_path / "model", untrained("bahdanau2014"), vocabularies, extra={"longest_trained": 3})
    line = b"the black cat sees the dog\n"
    done = run("translate", tmp_path / "model", "--beam", "1", "--longest", "2", stdin=line)
    assert done.code == 0 and done.err.count("6 words, more than the 3 of the longest text") == 1

    def never(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("saccade.decode.translator.run_search", never)
    done = run("translate", tmp_path / "model", stdin=line)
    assert done.code == 1 and "6 words, more than the 3 of the longest text" in done.err


def test_translate_plots_attention(run: Run, model_folder: Path, tmp_path: Path) -> None:
    assert run("translate", model_folder, "--plot", tmp_path / "one.svg", stdin=b"the cat sleeps\n").code == 0
    assert (tmp_path / "one.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert run("translate", model_folder, "--plot", tmp_path / "many.png", stdin=b"it sleeps\n\na dog eats\n").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["many-1.png", "many-3.png", "one.svg"]


def test_translate_warns_once_about_a_missing_font(
    run: Run, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib import font_manager

    default = [entry for entry in font_manager.fontManager.ttflist if entry.name == "DejaVu Sans"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", default)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    done = run("translate", model_folder, "--plot", tmp_path / "a.png", stdin=b"I see the house\n" * 2)
    assert done.code == 0 and done.err.count("\n") == 1 and "install a font such as Noto Sans CJK" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-1.png", "a-2.png"]
    done = run("translate", model_folder, "--plot", tmp_path / "b.png", "--lang", "zh", stdin=b"it sleeps\n")
    assert "no installed font has 源, 句, 译, 文, 权 and 1 more, so labels are English instead" in done.err


def test_translate_explains_a_mistake_in_one_line(
    run: Run, model_folder: Path, fixed_vector: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"it sleeps\nd\xe9j\xe0\n")
    for arguments, message in (
        ((tmp_path / "none",), "no such folder"),
        ((model_folder, tmp_path / "none.txt"), "no such file"),
        ((model_folder, bad), "bad.txt:2: byte 2 of the line is 0xE9"),
        ((model_folder, "--n-best", "7", "--beam", "3"), "--n-best must be from 1 to the beam of 3"),
        ((model_folder, "--sample", "--temperature", "0"), "temperature must be"),
        ((model_folder, "--device", "gpu"), "device 'gpu'"),
        ((model_folder, "--plot", "out.doc"), ".svg, .png, .pdf"),
        ((model_folder, "--jsonl", "--heatmap"), "give one of them"),
        ((model_folder, "--out", tmp_path), "a folder"),
        ((model_folder, "--out", tmp_path / "no" / "out.txt"), "cannot be written"),
        ((fixed_vector, "--heatmap"), "one fixed vector"),
        ((fixed_vector, "--plot", "out.svg"), "one fixed vector"),
    ):
        done = run("translate", *arguments, stdin=b"it sleeps\n")
        assert done.code == 2 and done.out == "", arguments
        assert message in done.err and done.err.count("\n") == 1, done.err
    assert run("translate", model_folder, "--beam", "0").code == 2


def test_translate_checks_the_whole_file_first(run: Run, model_folder: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"it sleeps\n" * 600 + b"\xff\n")
    done = run("translate", model_folder, bad, "--out", tmp_path / "out.txt")
    assert done.code == 2 and "bad.txt:601:" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]


def test_translate_keeps_finished_lines_after_ctrl_c(
    run: Run, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Translator.translate_stream

    def interrupted(*arguments: Any, **options: Any) -> Iterator[Translation]:
        results = stream(*arguments, **options)
        yield next(results)
        raise KeyboardInterrupt

    monkeypatch.setattr(Translator, "translate_stream", interrupted)
    arguments = ("translate", model_folder, "--out", tmp_path / "out.txt", "--chunk", "1")
    done = run(*arguments, stdin=b"it sleeps\na dog eats\n")
    assert done.code == 1 and "interrupted" in done.err and "out.txt.unfinished" in done.err
    assert (tmp_path / "out.txt.unfinished").read_text(encoding="utf-8") == "il dort\n"
    assert not (tmp_path / "out.txt").exists()
    assert run("translate", model_folder, stdin=b"it sleeps\na dog eats\n").out == "il dort\n"


@pytest.mark.parametrize("end", ["Ctrl-D", "Ctrl-C"])
def test_translate_is_interactive_on_a_terminal(
    end: str, model_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read(prompt: str = "") -> str:
        if not (line := sys.stdin.readline()):
            raise EOFError if end == "Ctrl-D" else KeyboardInterrupt
        return line.rstrip("\n")

    keyboard, terminal = os.openpty()
    os.write(keyboard, b"the cat sleeps\nit sleeps\n\x04")
    monkeypatch.setattr(sys, "argv", ["saccade", "translate", str(model_folder), "--heatmap"])
    monkeypatch.setattr("builtins.input", read)
    with os.fdopen(terminal, encoding="utf-8") as stdin, pytest.raises(SystemExit) as ended:
        monkeypatch.setattr(sys, "stdin", stdin)
        main()
    os.close(keyboard)
    out, err = capsys.readouterr()
    assert ended.value.code in (None, 0)
    assert err == "Type a text to translate it; Ctrl-D ends.\n> > > \n"
    lines = out.splitlines()
    assert lines[0] == "le chat dort" and "il dort" in lines and any("sleeps" in line for line in lines[1:])


@pytest.mark.slow
def test_translate_ends_quietly_when_a_pipe_closes(model_folder: Path) -> None:
    command = f"{shlex.quote(sys.executable)} -m saccade translate {shlex.quote(str(model_folder))} - --beam 1"
    piped = f"yes 'it sleeps' | head -2000 | {command} | head -1"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(["sh", "-c", piped], capture_output=True, text=True, timeout=120, env=environment)
    assert (done.stdout, done.stderr) == ("il dort\n", "")
