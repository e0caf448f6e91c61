"""The options of `saccade translate` for search, constraints and ensembles."""

import json
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from running import Done, Run

from saccade.decode import Translator, save
from saccade.models import Seq2Seq
from saccade.text import Vocabularies

CAT = b"the black cat sleeps\n"


def test_search_options_reach_the_search(run: Run, model_folder: Path) -> None:
    def text(*options: str) -> str:
        done = run("translate", model_folder, *options, stdin=CAT)
        assert done.code == 0, done.err
        return done.out

    assert text("--length-norm", "mean", "--coverage-penalty", "0.2") == "le chat noir dort\n"
    assert text("--length-norm", "none", "--length-penalty", "2") == "le chat noir dort\n"
    groups = text("--groups", "3", "--diversity", "9", "--n-best", "3").splitlines()
    assert len(groups) == 3 and groups[0].endswith("\tle chat noir dort")
    assert text("--sample", "--top-k", "1", "--temperature", "3") == "le chat noir dort\n"
    assert text("--sample", "--top-p", "0.5") == text("--sample", "--min-p", "0.9") == "le chat noir dort\n"
    assert text("--beam", "1", "--longest", "3") == "le ch\n"
    assert text("--beam", "1", "--shortest", "12", "--longest", "14").startswith("le chat noir dort")
    assert text("--beam", "1", "--shortest-ratio", "2", "--longest-ratio", "2") != "le chat noir dort\n"
    assert text("--no-repeat", "1", "--repeats", "1") != "le chat noir dort\n"  # its spaces are pieces that come again


def test_constraint_options_include_and_exclude_words(run: Run, model_folder: Path) -> None:
    assert run("translate", model_folder, "--prefix", "le cha", stdin=CAT) == Done(0, "le chat noir dort\n", "")
    assert run("translate", model_folder, "--outline", "le … dort", stdin=CAT).out == "le chat noir dort\n"
    result = run("translate", model_folder, "--include", "chien", "--include", "mange", "--exclude", "chat", stdin=CAT)
    assert {"chien", "mange"} <= set(result.out.split()) and "chat" not in result.out.split() and result.err == ""
    done = run("translate", model_folder, "--include", "chat noir", "--exclude", "noir", stdin=b"it sleeps\n\n")
    assert done.out == "il dort\n\n"
    assert done.err.splitlines() == [
        "saccade: line 1: not met: 'chat noir': it contains 'noir', which is excluded",
        "saccade: line 2: not met: 'chat noir': the source is blank",
    ]


def test_constraints_file_has_one_object_per_line(run: Run, model_folder: Path, tmp_path: Path) -> None:
    source, constraints = tmp_path / "in.txt", tmp_path / "asked.jsonl"
    source.write_text("the black cat sleeps\nit sleeps\nit sleeps\n", encoding="utf-8")
    lines = ['{"prefix": "un chat"}', "", '{"include": ["chien"], "exclude": ["il"]}']
    constraints.write_text("\n".join(lines) + "\n", encoding="utf-8")
    first, second, third = run("translate", model_folder, source, "--constraints", constraints).out.splitlines()
    assert first.startswith("un chat") and second == "il dort"
    assert "chien" in third.split() and "il" not in third.split()
    for bad, message in (
        ('{"include": ["chien"', "asked.jsonl:2: "),
        ('{"includes": []}', "asked.jsonl:2: expected an object with some of prefix"),
        ('{"include": "chien"}', "asked.jsonl:2: include: expected a list"),
        ('{"include": [""]}', "asked.jsonl:2: include takes a list of phrases"),
        ('{"prefix": "a", "outline": "b"}', "asked.jsonl:2: prefix cannot be combined with an outline"),
    ):
        constraints.write_text("\n".join([lines[0], bad, lines[2]]), encoding="utf-8")
        done = run("translate", model_folder, source, "--constraints", constraints, "--out", tmp_path / "out.txt")
        assert done.code == 2 and message in done.err and done.err.count("\n") == 1, done.err
        assert not list(tmp_path.glob("out*"))
    constraints.write_text("\n\n", encoding="utf-8")
    assert (
        "2 lines, but there are more to translate"
        in run("translate", model_folder, source, "--constraints", constraints).err
    )
    constraints.write_text("\n" * 4, encoding="utf-8")
    assert "4 lines, for 3 to translate" in run("translate", model_folder, source, "--constraints", constraints).err
    assert (
        "give it without --prefix"
        in run("translate", model_folder, source, "--constraints", constraints, "--prefix", "a").err
    )
    assert "no such file" in run("translate", model_folder, source, "--constraints", tmp_path / "none").err


def test_tree_option_writes_each_search_tree(run: Run, model_folder: Path, tmp_path: Path) -> None:
    trees_file = tmp_path / "trees.jsonl"
    assert run("translate", model_folder, "--tree", trees_file, stdin=b"it sleeps\n\na dog eats\n").code == 0
    trees = [json.loads(line) for line in trees_file.read_text(encoding="utf-8").splitlines()]
    assert [tree["line"] for tree in trees] == [1, 2, 3] and "nodes" not in trees[1]
    assert trees[0]["version"] == 1 and {node["fate"] for node in trees[0]["nodes"]} >= {"kept", "pruned", "ended"}


def test_ensemble_translates_with_several_models(
    run: Run,
    model_folder: Path,
    learnt: Translator,
    tmp_path: Path,
    untrained: Callable[..., Seq2Seq[Any, Any]],
    vocabularies: Vocabularies,
) -> None:
    other, turned = tmp_path / "other", tmp_path / "turned"
    save(other, untrained("bahdanau2014"), vocabularies)
    save(turned, learnt.model, vocabularies.towards(right_to_left=True))
    options = ("--ensemble", other, "--weights", "0.95,0.05")
    assert run("translate", model_folder, *options, stdin=CAT) == Done(0, "le chat noir dort\n", "")
    alone = run("translate", model_folder, "--jsonl", stdin=CAT).out
    combined = run("translate", model_folder, *options, "--average", "log-probabilities", "--jsonl", stdin=CAT).out
    assert json.loads(combined)["text"] == json.loads(alone)["text"] != json.loads(combined)["log_prob"]
    for bad, message in (
        (("--ensemble", turned), "turned: its vocabulary differs from that of"),
        (("--ensemble", tmp_path / "none"), "no such folder"),
        ((*options[:2], "--weights", "1"), "expected 2"),
        ((*options[:2], "--weights", "a,b"), "--weights a,b: expected one number per model"),
        ((*options[:2], "--average", "median"), "--average must be probabilities or"),
    ):
        done = run("translate", model_folder, *bad, stdin=CAT)
        assert done.code == 2 and done.out == "" and message in done.err and done.err.count("\n") == 1, done.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--top-k", "3"), "--top-k applies only to sampling"),
        (("--beam", "5", "--groups", "2"), "--groups must divide the beam of 5"),
        (("--length-norm", "google"), "--length-norm must be wu, mean or none"),
        (("--shortest", "9", "--longest", "9"), "--shortest must be below the longest of 9"),
        (("--no-repeat", "0"), "--no-repeat must be from 1 to"),
        (("--include", " "), "include takes a list of phrases"),
        (("--outline", "…"), "--outline must have words to keep"),
    ],
    ids=str,
)
def test_search_options_explain_a_mistake_in_one_line(run: Run, model_folder: Path, options: Any, message: str) -> None:
    done = run("translate", model_folder, *options, stdin=CAT)
    assert done.code == 2 and done.out == "" and message in done.err and done.err.count("\n") == 1, done.err


def test_coverage_penalty_needs_attention(
    run: Run,
    tmp_path: Path,
    untrained: Callable[..., Seq2Seq[Any, Any]],
    vocabularies: Vocabularies,
) -> None:
    save(tmp_path / "fixed", untrained("cho2014"), vocabularies)
    done = run("translate", tmp_path / "fixed", "--coverage-penalty", "1", stdin=CAT)
    assert done.code == 2 and "one fixed vector" in done.err


def test_translate_repeats_nothing_nine_times_by_default(
    run: Run,
    tmp_path: Path,
    untrained: Callable[..., Seq2Seq[Any, Any]],
    vocabularies: Vocabularies,
) -> None:
    model = untrained("vaswani2017")
    state = model.state_dict()
    for name in state:
        state[name] = state[name] * 0  # all tokens are equally probable, so the first allowed one is written
    model.load_state_dict(state)
    save(tmp_path / "model", model, vocabularies)
    arguments = ("translate", tmp_path / "model", "--jsonl", "--beam", "1", "--shortest", "20", "--longest", "21")
    outputs = [json.loads(run(*arguments, *more, stdin=b"it\n").out)["tokens"] for more in ((), ("--repeats", "0"))]
    runs = [max(len(list(same)) for _, same in groupby(tokens)) for tokens in outputs]
    assert runs == [8, 21]
    assert run(*arguments, "--repeats", "-1", stdin=b"it\n").code == 2
