"""What is killed: the save of a model with its training state, the translation of a file, and a run that trains.

Each function takes the bounds of `try_crashes`: how many states are tried at `most` (default: all), and a `seed`.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from crashes import Outcome, try_crashes
from recording import recording

from saccade import files, model_folder
from saccade.journal import open_journal
from saccade.model_folder import ModelConfig
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.translation import train

TEXTS = [f"line {number}" for number in range(6)]
CHUNK = 2


def save(folder: Path, step: int) -> None:
    """A model, its training state and its card, as a run saves them."""
    weights = torch.full((3,), float(step))
    with files.atomic_folder(folder) as new:
        model_folder.save_model(new, {"w": weights}, ModelConfig(model="m", config={"step": step}))
        model_folder.save_training(new, {"step": step, "w": weights})
        (new / "README.md").write_text(f"step {step}\n", encoding="utf-8")


def read(folder: Path) -> int:
    """The step of what is there, all parts of which must be of that one step; reading changes nothing."""
    before = sorted((path, path.is_dir()) for path in folder.rglob("*"))
    tensors, config = model_folder.load_model(folder)
    state = model_folder.load_training(folder)
    card = files.read(folder, "README.md").decode()
    step = int(config.config["step"])
    assert card == f"step {step}\n" and state["step"] == step, (card, state["step"], step)
    assert tensors["w"].tolist() == state["w"].tolist() == [float(step)] * 3
    assert sorted((path, path.is_dir()) for path in folder.rglob("*")) == before, "a reader changed the folder"
    return step


def crash_save(scratch: Path, *, first: bool = False, **bounds: Any) -> Outcome:
    """A save over an older one, or the first one of a folder, killed at any moment."""
    folder = scratch / "saved"
    folder.mkdir(parents=True)
    if not first:
        save(folder, 1)
    with recording(folder) as record:
        save(folder, 2)

    def check(left: Path, ended: bool) -> None:
        if not first or ended or files.exists(left, "config.json"):
            found = read(left)
            assert found in ((2,) if first or ended else (1, 2)), f"step {found}"
        save(left, 3)  # as the resumed run will
        assert read(left) == 3
        assert not list(left.glob(".*")), "leftovers"

    return try_crashes(record, check, scratch / "left", **bounds)


def translate(folder: Path) -> None:
    """Write chunk by chunk, as `saccade translate --out out.txt --tree tree.txt` does, and resume after a stop."""
    outputs = {"out": folder / "out.txt", "tree": folder / "tree.txt"}
    with open_journal(outputs, {"command": "the same"}, restart=False) as put:
        rest = list(put.skip_finished(iter(TEXTS), lambda text: text))
        for start in range(0, len(rest), CHUNK):
            for text in rest[start : start + CHUNK]:
                put.write("out", text.upper())
                put.write("tree", text)
                put.note(text)
            put.commit(put.lines + CHUNK)


def crash_translation(scratch: Path, **bounds: Any) -> Outcome:
    """The outputs of a translation that is killed at any moment and resumed by the same command."""
    folder = scratch / "translated"
    folder.mkdir(parents=True)
    with recording(folder) as record:
        translate(folder)
    expected = _outputs(folder)

    def check(left: Path, ended: bool) -> None:
        if (left / "out.txt").exists():
            assert (left / "out.txt").read_bytes() == expected["out.txt"], "out.txt is there and not whole"
        else:
            translate(left)
            assert _outputs(left) == expected

    return try_crashes(record, check, scratch / "left", **bounds)


def _outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith(".lock")}


def crash_training(scratch: Path, **bounds: Any) -> Outcome:
    """A training run, killed at any moment of its second half and resumed: it ends with the same weights."""
    scratch.mkdir(parents=True, exist_ok=True)
    half = _recipe(scratch / "pairs.tsv", steps=2)
    whole = replace(half, train=replace(half.train, max_steps=4))
    folder = scratch / "run"
    train(half, folder)
    with recording(folder) as record:
        train(whole, folder, resume=True)
    expected, noted = _trained(folder), _noted(folder)

    def check(left: Path, ended: bool) -> None:
        train(whole, left, resume=True)
        assert _trained(left) == expected
        # The log is not synced, and may lack lines after a crash; what it has is right.
        assert all(note in noted for note in _noted(left))
        assert not [path.name for path in left.glob(".*") if not path.name.endswith(".lock")], "leftovers"

    return try_crashes(record, check, scratch / "left", **bounds)


def _recipe(pairs: Path, steps: int) -> Recipe:
    texts = [f"{a} {b}\t{b} {a}" for a in ("red", "green", "blue") for b in ("cat", "dog", "bird", "fish")]
    pairs.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return recipe_of(
        {
            "data": {"pairs": str(pairs), "valid": str(pairs), "vocabulary": {"kind": "char", "size": 300}},
            "model": {"name": "cho2014", "embedding": 4, "hidden": 4, "maxout": 4},
            "train": {
                "tokens": 40,
                "max_steps": steps,
                "check_every": 2,
                "judge": "loss",
                "device": "cpu",
                "threads": 1,
            },
        },
        "test",
    )


def _trained(folder: Path) -> list[Any]:
    """What must be as if nothing had happened: the weights of the kept model, and of the run itself."""
    tensors, _ = model_folder.load_model(folder)
    state = model_folder.load_training(folder)
    return [{name: tensor.tolist() for name, tensor in some.items()} for some in (tensors, state["model"])]


def _noted(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [{key: note[key] for key in ("step", "loss") if key in note} for note in map(json.loads, lines)]
