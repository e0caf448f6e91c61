"""`saccade translate` of JSON objects: fields, constraints, clashing names, long texts and bad JSON."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from running import Run

from saccade.decode import save
from saccade.models import MODELS, Seq2Seq
from saccade.text import Vocabularies

Untrained = Callable[..., Seq2Seq[Any, Any]]


def objects(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_jsonl_fields_pass_through_unchanged(run: Run, model_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    lines = [
        '{"id": 1.10, "source": "it sleeps", "big": 123456789012345678901234567890, "nested": {"a": [1, null]}}',
        "",
        ' { "source" : "a dog eats" , "caf\\u00e9":"\\ud83d\\ude00" , "x": 1e400 } ',
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    done = run("translate", model_folder, file, "--jsonl")
    assert done.code == 0, done.err
    first, blank, last = done.out.splitlines()
    assert first.startswith(lines[0][:-1] + ', "line": 1, "text": "il dort"')
    assert last.startswith(lines[2].strip()[:-1].rstrip() + ', "line": 3, "text": "un chien mange"')
    assert json.loads(first)["source"] == "it sleeps" and first.count('"source":') == 1
    assert json.loads(blank)["text"] == "" and json.loads(blank)["line"] == 2
    assert run("translate", model_folder, file).out == "il dort\n\nun chien mange\n"


def test_jsonl_field_can_be_named_and_nested(run: Run, model_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "in.ndjson.gz"
    file.write_bytes(gzip.compress(b'{"translation": {"en": "it sleeps"}}\n'))
    assert run("translate", model_folder, file, "--field", "translation.en").out == "il dort\n"
    done = run("translate", model_folder, "--jsonl-in", "--field", "en", "--jsonl", stdin=b'{"en": "it sleeps"}\n')
    (row,) = objects(done.out)
    assert row["en"] == row["source"] == "it sleeps" and row["text"] == "il dort"


def test_jsonl_refuses_field_names_that_clash(run: Run, model_folder: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    file.write_text('{"text": "it sleeps", "id": 7}\n{"text": "a dog eats", "score": 3}\n', encoding="utf-8")
    arguments = ("translate", model_folder, file, "--jsonl", "--field", "text", "--out", out)
    done = run(*arguments)
    assert done.code == 2 and "in.jsonl:1: has a field 'text', which the output has, too" in done.err
    assert "--into NAME" in done.err and not out.exists()
    done = run(*arguments, "--into", "id")
    assert done.code == 2 and "in.jsonl:1: has a field 'id'" in done.err and "another name by --into" in done.err
    assert run(*arguments, "--into", "found").code == 0
    first, second = objects(out.read_text(encoding="utf-8"))
    assert first["text"] == "it sleeps" and first["id"] == 7 and first["found"]["text"] == "il dort"
    assert second["score"] == 3 and second["found"]["line"] == 2 and second["found"]["source"] == "a dog eats"
    assert run("translate", model_folder, file, "--field", "text").code == 0  # as text, nothing clashes


def test_jsonl_object_has_its_own_constraints(run: Run, model_folder: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    constrained = {"source": "it sleeps", "constraints": {"include": ["chien"], "exclude": ["il"]}}
    lines = [constrained, {"source": "it sleeps"}, {"source": "it sleeps", "constraints": None}]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    assert run("translate", model_folder, file, "--jsonl", "--out", out).code == 0
    first, second, third = objects(out.read_text(encoding="utf-8"))
    assert "chien" in first["text"].split() and "il" not in first["text"].split() and first["unmet"] == []
    assert first["constraints"] == constrained["constraints"]
    assert second["text"] == third["text"] == "il dort"
    done = run("translate", model_folder, file, "--prefix", "un")
    assert done.code == 2 and "in.jsonl:1: has constraints of its own" in done.err


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ('{"source": "it', "in.jsonl:3: not JSON"),
        ('["it sleeps"]', 'in.jsonl:3: ["it sleeps"]… is no object; expected {"source": …}'),
        ('{"text": "it sleeps"}', "in.jsonl:3: there is no 'source'; the texts there are text; name the one"),
        ('{"source": 3}', "in.jsonl:3: 'source' is 3; expected a text"),
        ('{"source": "\\ud800"}', "in.jsonl:3: not JSON (\\ud800 is half of a surrogate pair"),
        ('{"source": "a", "constraints": {"includes": []}}', "in.jsonl:3: constraints: expected an object with some"),
        ('{"source": "a", "constraints": {"include": ["  "]}}', "in.jsonl:3: constraints: include takes a list"),
        ("[" * 100_000, "in.jsonl:3: not JSON (more than 100 lists or tables inside each other"),
    ],
    ids=["cut", "list", "field", "number", "surrogate", "constraint", "phrase", "deep"],
)
def test_bad_json_is_refused_before_translating(
    run: Run,
    model_folder: Path,
    tmp_path: Path,
    bad: str,
    message: str,
) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text('{"source": "it sleeps"}\n\n' + bad + "\n", encoding="utf-8")
    done = run("translate", model_folder, file, "--out", tmp_path / "out.txt")
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1, done.err
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


def test_text_with_line_breaks_gives_one_line(run: Run, model_folder: Path) -> None:
    done = run("translate", model_folder, "--jsonl-in", stdin=b'{"source": "it\\nsleeps"}\n{"source": "\\u0000"}\n')
    assert done.code == 0 and done.out.startswith("il dort\n") and done.out.count("\n") == 2


@pytest.mark.parametrize("name", MODELS)
def test_jsonl_works_with_every_model(
    name: str,
    run: Run,
    untrained: Untrained,
    vocabularies: Vocabularies,
    tmp_path: Path,
) -> None:
    save(tmp_path / "model", untrained(name), vocabularies, extra={"longest_trained": 4})
    objects_in = b'{"id": 1, "source": "it sleeps"}\n{"id": 2, "source": "It sleeps. A dog eats. We see."}\n'
    options = ("--jsonl-in", "--jsonl", "--longest", "4", "--n-best", "2", "--beam", "2")
    first, second = objects(run("translate", tmp_path / "model", *options, stdin=objects_in).out)
    assert (first["id"], second["id"]) == (1, 2) and len(first["alternatives"]) == len(second["alternatives"]) == 1
    assert first["parts"] == [] and [part["source"] for part in second["parts"]] == [
        "It sleeps.",
        "A dog eats.",
        "We see.",
    ]
    if second["alignment"] is not None:
        assert second["source_words"] == ["It", "sleeps", ".", "A", "dog", "eats", ".", "We", "see", "."]


def test_too_long_lines_are_split_refused_or_kept(
    run: Run, untrained: Untrained, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    save(tmp_path / "model", untrained("bahdanau2014"), vocabularies, extra={"longest_trained": 4})
    file = tmp_path / "in.txt"
    file.write_text("it sleeps\nIt sleeps. A dog eats.\na big dog eats an apple\n", encoding="utf-8")
    arguments = ("translate", tmp_path / "model", file, "--beam", "1", "--longest", "3", "--out", tmp_path / "out.txt")
    done = run(*arguments)
    messages = done.err.splitlines()
    assert done.code == 0 and "line 2: 7 words" in messages[0] and "in 2 parts" in messages[0]
    assert "line 3: 6 words" in messages[1] and "translated whole" in messages[1] and len(messages) == 2
    (tmp_path / "out.txt").unlink()
    for option, place in (("refuse", 2), ("split-or-refuse", 3)):
        done = run(*arguments, "--too-long", option)
        assert done.code == 2 and f"in.txt:{place}: " in done.err and "--too-long split" in done.err
        assert not list(tmp_path.glob("out*"))
    done = run(*arguments, "--too-long", "keep")
    assert done.code == 0 and done.err == ""
    done = run("translate", tmp_path / "model", "--too-long", "refuse", stdin=file.read_bytes())
    assert done.code == 2 and "standard input:2: 7 words" in done.err
    assert "--too-long must be" in run(*arguments, "--too-long", "cut").err


@pytest.mark.slow
def test_split_lines_have_trees_and_figures(
    run: Run,
    untrained: Untrained,
    vocabularies: Vocabularies,
    tmp_path: Path,
) -> None:
    save(tmp_path / "model", untrained("vaswani2017"), vocabularies, extra={"longest_trained": 4})
    save(tmp_path / "other", untrained("cho2014"), vocabularies)
    options = ("--tree", tmp_path / "trees.jsonl", "--plot", tmp_path / "see.svg", "--n-best", "2", "--longest", "4")
    done = run(
        "translate", tmp_path / "model", *options, "--ensemble", tmp_path / "other", stdin=b"It sleeps. A dog eats.\n"
    )
    assert done.code == 0 and "<svg" in (tmp_path / "see.svg").read_text(encoding="utf-8")
    (tree,) = objects((tmp_path / "trees.jsonl").read_text(encoding="utf-8"))
    assert tree["line"] == 1 and [part["version"] for part in tree["parts"]] == [1, 1]
    shown = run("translate", tmp_path / "model", "--heatmap", "--longest", "4", stdin=b"It sleeps. A dog eats.\n")
    assert shown.code == 0 and "sleeps" in shown.out
