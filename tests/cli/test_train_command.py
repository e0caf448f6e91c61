"""`saccade train`: every form of pairs, further training, and mistakes."""

import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from running import QUICK, SHORT, Done, Run

from saccade.data import TextPair
from saccade.decode import load, save
from saccade.model_folder import FORMAT
from saccade.models import Seq2Seq
from saccade.text import Vocabularies
from saccade.train.recipe import load_recipe


def assert_trained(done: Done, out: Path) -> None:
    assert done.code == 0, done.err
    assert "the budget is spent" in done.err
    assert load(out, device="cpu").translate(["", "it sleeps"])[0].text == ""


def test_train_needs_only_pairs(train: Run, tsv: bytes, tmp_path: Path) -> None:
    (tmp_path / "my-pairs.tsv").write_bytes(tsv)
    done = train("my-pairs.tsv", *QUICK)
    assert_trained(done, tmp_path / "runs" / "my-pairs")
    assert "8 pairs of about 4 source words" in done.err and "vocabulary" in done.err
    assert "my-pairs.tsv: kept 7 of 7 pairs" in done.err and done.out == ""


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_train_reads_compressed_pairs(pack: Callable[[bytes], bytes], train: Run, tsv: bytes, tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv.z").write_bytes(pack(tsv))
    assert_trained(train("pairs.tsv.z", "--out", "m", *QUICK), tmp_path / "m")


def test_train_reads_two_parallel_files(train: Run, pairs: list[TextPair], tmp_path: Path) -> None:
    for name in ("source", "target"):
        (tmp_path / name).write_text("".join(f"{getattr(pair, name)}\n" for pair in pairs), encoding="utf-8")
    assert_trained(train("source", "target", "--out", "m", *QUICK), tmp_path / "m")
    assert load_recipe(tmp_path / "m" / "recipe.toml").data.targets == "target"


def test_train_saves_standard_input_for_resuming(train: Run, tsv: bytes, tmp_path: Path) -> None:
    assert_trained(train("-", "--out", "m", *QUICK, stdin=tsv), tmp_path / "m")
    assert (tmp_path / "m" / "pairs.tsv").read_bytes() == tsv
    assert_trained(train("-", "--out", "m", "--resume", "--set", "train.max_steps=2"), tmp_path / "m")
    (tmp_path / "r.toml").write_text("data = {pairs = '-', vocabulary.size = 330}\nmodel.name = 'cho2014'\n")
    settings = [setting for setting in QUICK if setting not in ("--model", "cho2014")]
    assert_trained(train("r.toml", "--out", "n", *settings, stdin=tsv), tmp_path / "n")
    assert train("r.toml", "--out", "n", "--resume", "--set", "train.max_steps=2").code == 0


def test_train_reads_a_task(train: Run, tmp_path: Path) -> None:
    drawn = ("--set", "data.count=60", "--set", "data.words=[3, 4]")
    assert_trained(train("task:phrasebook-de-en", *drawn, *QUICK), tmp_path / "runs" / "phrasebook-de-en")


def test_train_handles_a_large_alphabet(train: Run, tmp_path: Path) -> None:
    """Nothing but `saccade train pairs.tsv` is needed for Chinese either."""
    lines = (f"go to place {i}\t{''.join(chr(0x4E00 + 7 * i + j) for j in range(7))}\n" for i in range(90))
    (tmp_path / "p.tsv").write_text("".join(lines), encoding="utf-8")
    assert_trained(train("p.tsv", "--out", "m", *QUICK), tmp_path / "m")


def test_train_continues_from_a_model(train: Run, tsv: bytes, tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_bytes(tsv)
    assert (
        train("p.tsv", "--out", "m", *QUICK, "--set", "data.joint=false", "--set", "data.right_to_left=true").code == 0
    )
    (tmp_path / "new.tsv").write_text("the dog sleeps\tle chien dort\na cat eats\tun chat mange\n", encoding="utf-8")
    done = train("new.tsv", "--out", "n", "--init-from", "m", "--set", "model.dropout=0.4", *SHORT)
    assert_trained(done, tmp_path / "n")
    assert "cho2014 trained further: its vocabulary and settings, and 0.3 of the usual learning rate" in done.err
    old, new = load(tmp_path / "m", device="cpu"), load(tmp_path / "n", device="cpu")
    assert new.vocabularies.hash == old.vocabularies.hash
    assert new.model.config == replace(old.model.config, dropout=0.4)
    recipe = load_recipe(tmp_path / "n" / "recipe.toml")
    assert recipe.train.init_from == recipe.data.vocab_from == "m" and recipe.train.lr == pytest.approx(6e-4)
    for name, before in old.model.state_dict().items():  # one small step away, not elsewhere
        assert float((new.model.state_dict()[name] - before).abs().max()) < 1e-2


def test_train_continues_with_other_pairs_mixed_in(train: Run, tsv: bytes, tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_bytes(tsv)
    assert train("p.tsv", "--out", "m", *QUICK).code == 0
    (tmp_path / "new.tsv").write_text("".join(f"the dog {i}\tle chien {i}\n" for i in range(56)), encoding="utf-8")
    mixed = ("--mix", "p.tsv", "--mix-share", "0.3", "--valid", "p.tsv")
    assert_trained(train("new.tsv", "--out", "n", "--init-from", "m", *mixed, *SHORT), tmp_path / "n")
    data = load_recipe(tmp_path / "n" / "recipe.toml").data
    assert [corpus.pairs for corpus in data.corpora] == ["new.tsv", "p.tsv"] and data.valid == "p.tsv"
    assert data.corpora[1].weight == pytest.approx(3.0)  # of 80 pairs seen, 56 are new, and 24 of the 8 others


def test_train_starts_a_recipe_from_a_model(
    train: Run, refused: Callable[..., None], tsv: bytes, tmp_path: Path
) -> None:
    (tmp_path / "p.tsv").write_bytes(tsv)
    assert train("p.tsv", "--out", "m", *QUICK).code == 0
    text = (
        "data.pairs = 'p.tsv'\nmodel = {name = 'cho2014', preset = 'tiny', hidden = 8, embedding = 8, dropout = 0.2}\n"
    )
    (tmp_path / "r.toml").write_text(text)
    assert_trained(train("r.toml", "--out", "n", "--init-from", "m", *SHORT), tmp_path / "n")
    refused(
        "r.toml", "--out", "o", "--init-from", "m", "--set", "model.hidden=9", message="the cho2014 of m does not fit"
    )
    refused("r.toml", "--out", "o", "--mix", "p.tsv", message="list what it is to mix in [[data.corpora]]")
    refused("p.tsv", "--out", "o", "--init-from", "m", "--model", "vaswani2017", message="continues its cho2014")
    refused("p.tsv", "--out", "o", "--init-from", "nil", message="nil: no such folder")
    refused("p.tsv", "--out", "o", "--mix", "p.tsv", "--mix-share", "1", message="must be above 0 and below 1")


def test_train_prints_json(train: Run, tsv: bytes, tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_bytes(tsv)
    done = train("p.tsv", "--out", "m", "--json", *QUICK)
    result = json.loads(done.out)
    assert (result["folder"], result["step"], result["reason"]) == ("m", 1, "the budget is spent")
    assert result["best"]["loss"] > 0


def test_train_repeats_a_saved_recipe_exactly(train: Run, tsv: bytes, tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_bytes(tsv)
    assert train("p.tsv", "--out", "first", *QUICK, "--set", "model.tie=all").code == 0
    assert train("first/recipe.toml", "--out", "second").code == 0
    for name in ("recipe.toml", "metrics.jsonl", "model.safetensors"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_train_preset_replaces_the_chosen_size(train: Run, tsv: bytes, tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_bytes(tsv)
    assert train("p.tsv", "--out", "m", *QUICK).code == 0
    assert train("p.tsv", "--out", "n", *QUICK, "--set", "model.preset=small").code == 0
    assert load_recipe(tmp_path / "m" / "recipe.toml").settings.maxout == 64
    assert load_recipe(tmp_path / "n" / "recipe.toml").settings.maxout == 128


def test_train_uses_another_vocabulary_and_validation_pairs(
    train: Run, tsv: bytes, tmp_path: Path, vocabularies: Vocabularies, untrained: Callable[..., Seq2Seq[Any, Any]]
) -> None:
    other = tmp_path / 'another "model"'
    save(other, untrained("cho2014"), vocabularies)
    (tmp_path / "p.tsv").write_bytes(tsv)
    (tmp_path / "valid.tsv").write_text("it eats\til mange\n")
    done = train("p.tsv", "--out", "m", "--vocab-from", other, "--valid", "valid.tsv", *QUICK)
    assert_trained(done, tmp_path / "m")
    assert "kept 8 of 8 pairs" in done.err and "validation: kept 1 of 1 pair" in done.err
    assert load(tmp_path / "m", device="cpu").vocabularies.hash == vocabularies.hash


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\nc d\n", "p.tsv:2: 0 tabs in the line"),
        (b"a\tb\nc\td\te\n", "p.tsv:2: 2 tabs in the line"),
        (b"a\tb\nc\0\td\n", "p.tsv:2: contains a NUL"),
        ("a\tb\nd\tdéjà\n".encode("latin-1"), "p.tsv:2: byte 4 of the line is 0xE9, which is not UTF-8"),
        (b"", "p.tsv:1: the file is empty"),
        (b"a\tb\n", "p.tsv: 1 pair; expected at least 2"),
        (b"a\tb\n" * 9, "p.tsv: 9 pairs, all of one source"),
        (b"a\tb\n" + b"x" * (1 << 20) + b"\ty\n", "p.tsv:2: more than 262,144 bytes without a line end"),
        (b"\n\t\n\n", "p.tsv: 0 pairs"),
        (gzip.compress(b"a\tb\n" * 99)[:-9], "p.tsv:"),
    ],
    ids=["no tab", "two tabs", "NUL", "latin-1", "empty", "one line", "one source", "1 MB line", "blank", "cut gzip"],
)
def test_train_names_the_line_of_a_bad_pair(
    content: bytes, message: str, refused: Callable[..., None], tmp_path: Path
) -> None:
    (tmp_path / "p.tsv").write_bytes(content)
    refused("p.tsv", "--out", "m", *QUICK, message=message)
    recipe = "data.pairs = 'p.tsv'\ndata.vocabulary.size = 330\nmodel = {name = 'cho2014', preset = 'tiny'}\n"
    (tmp_path / "r.toml").write_text(recipe)
    refused("r.toml", "--out", "m", message=message)
    refused("-", "--out", "m", *QUICK, message=message.replace("p.tsv", "m/pairs.tsv"), stdin=content)


def test_train_refuses_files_of_different_length(refused: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2\n3\n")
    (tmp_path / "b").write_text("1\n2\n")
    refused("a", "b", "--out", "m", *QUICK, message="b:3: the file ends before line 3 and a has 3 lines")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pairs.tv"], "pairs.tv: no such file; did you mean pairs.tsv?"),
        (["pairs.tsv", "none.fr"], "none.fr: no such file"),
        (["-", "-"], "standard input was given for both sides"),
        (["none.toml"], "none.toml: cannot be read"),
        (["task:phrasebook-en-fi"], "did you mean 'phrasebook-en-f"),
        (["pairs.tsv", "--model", "cho2015"], "did you mean 'cho2014'?"),
        (["pairs.tsv", "--set", "model=cho2014"], "model: "),
        (["pairs.tsv", "--set", "model.name=3"], "model.name"),
        (["pairs.tsv", "--set", "train.lrr=1"], "--set: train.lrr: unknown key; did you mean 'lr'?"),
        (["pairs.tsv", "--set", "data.lonest=1"], "--set: data.lonest: unknown key; did you mean 'longest'?"),
        (["pairs.tsv", "--set", "train.lr"], "--set train.lr: expected KEY=VALUE"),
        (["pairs.tsv", "--set", "train.lr=fast"], 'train.lr: "fast" given, expected a number'),
        (["pairs.tsv", "--vocab-from", "nil"], "data.vocab_from: nil is not a model folder"),
        (["pairs.tsv", "--valid", "none.tsv"], "none.tsv: no such file"),
        (["pairs.tsv", "--set", "data.vocabulary.size=20"], "a vocabulary of 20 is too small"),
        (["recipe.toml"], "recipe.toml: train.lrr: unknown key; did you mean 'lr'?"),
        (["recipe.toml", "pairs.tsv"], "is a recipe, which names its own files; leave pairs.tsv out"),
        (["pairs.tsv", "--resume"], "m: there is no run to resume; leave --resume out"),
        (["pairs.tsv", "--out", "used"], "used: the folder is not empty; add --resume"),
        (["pairs.tsv", "--out", "pairs.tsv"], "pairs.tsv: a file is in the way; expected a folder"),
    ],
)
def test_train_explains_a_mistake_in_one_line(
    arguments: list[str], message: str, refused: Callable[..., None], tsv: bytes, tmp_path: Path
) -> None:
    (tmp_path / "pairs.tsv").write_bytes(tsv)
    (tmp_path / "recipe.toml").write_text("data.pairs = 'pairs.tsv'\nmodel.name = 'cho2014'\ntrain.lrr = 1\n")
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "thesis.txt").write_text("mine")
    refused("--out", "m", *arguments, message=message)


def test_train_refuses_to_resume_a_damaged_run(
    train: Run, refused: Callable[..., None], tsv: bytes, tmp_path: Path
) -> None:
    (tmp_path / "p.tsv").write_bytes(tsv)
    assert train("p.tsv", "--out", "m", *QUICK).code == 0
    resume = ("p.tsv", "--out", "m", "--resume")
    state, tensors = tmp_path / "m/training/state.json", tmp_path / "m/training/state.safetensors"
    whole = {path: path.read_bytes() for path in (state, tensors)}

    def damaged(path: Path, content: bytes | None, message: str) -> None:
        path.unlink() if content is None else path.write_bytes(content)
        refused(*resume, message=message)
        path.write_bytes(whole[path])

    other = json.loads(whole[state]) | {"format": FORMAT + 1, "saccade": "9.9"}
    damaged(state, json.dumps(other).encode(), f"state.json: format {FORMAT + 1}, written by Saccade 9.9")
    damaged(state, whole[state][:99], "state.json: damaged or half copied: not JSON")
    damaged(state, whole[state].replace(b'"step": 1', b'"step": 7'), "state.json: damaged or half copied")
    damaged(state, None, "it has no training/state.json")
    damaged(tensors, whole[tensors][:-9], "state.safetensors: damaged or half copied: its checksum differs")
    damaged(tensors, None, "it has no training/state.safetensors")
    (tmp_path / "m/training").rename(tmp_path / "away")
    refused(*resume, message="a model without its training/ folder")
    (tmp_path / "away").rename(tmp_path / "m/training")
    (tmp_path / "m/recipe.toml").write_text("train.lrr = 1")
    refused(*resume, message="recipe.toml: train.lrr: unknown key")


def test_train_rebuilds_a_damaged_cache(train: Run, tsv: bytes, tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_bytes(tsv)
    assert train("p.tsv", "--out", "m", *QUICK).code == 0
    (cached,) = (tmp_path / "m" / "cache").glob("*/source_ids.npy")
    whole = cached.read_bytes()
    cached.write_bytes(whole[:-4] + b"\xff\xff\xff\x7f")
    assert train("p.tsv", "--out", "m", "--resume", "--set", "train.max_steps=2").code == 0
    assert cached.read_bytes() == whole


@pytest.mark.slow
def test_train_runs_in_a_pipe(tsv: bytes, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "saccade", "train", "-", "--out", "m", *QUICK]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, input=tsv, capture_output=True, cwd=tmp_path, timeout=120, env=environment)
    assert done.returncode == 0 and done.stdout == b"" and b"\x1b" not in done.stderr, done.stderr
    assert load(tmp_path / "m", device="cpu").model.config.hidden == 8
