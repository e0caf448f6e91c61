"""Valid inputs that the attack begins with: pairs, texts, models, constraints and alignments, all tiny."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from .child import preload, rehearse
from .mutating import as_toml

PAIRS = [
    ("the cat sleeps", "le chat dort"),
    ("the black cat sleeps", "le chat noir dort"),
    ("a dog eats 12 apples", "un chien mange 12 pommes"),
    ("a big dog eats", "un grand chien mange"),
    ("I see the house", "je vois la maison"),
    ("we see the black house", "nous voyons la maison noire"),
    ("it sleeps", "il dort"),
    ("it eats", "il mange"),
]
TEXTS = ["the cat sleeps", "", "a dog eats 12 apples", "it sleeps", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"]
CONSTRAINTS: list[dict[str, Any] | None] = [
    {"include": ["chat"]},
    None,
    {"exclude": ["mange", "12"], "prefix": "un"},
    {"outline": "il … dort"},
    {},
]
# i-j: source word i and target word j of PAIRS belong together
LINKS = ["0-0 1-1 2-2", "0-0 1-2 2-1 3-3", "0-0 1-1 2-2 3-3 4-4", "0-0 1-1 2?2 3-3"]
LINKS += ["0-0 1-1 2-2 3-3", "0-0 1-1 2-2 3-4 4-3", "0-0 1-1", "0-0 1p1"]
MODULE = (
    "from pathlib import Path\n\nPath('EXECUTED').write_text('code of the folder was run')\nfactory = Model = dict\n"
)

_TINY = {
    "rnn": {"name": "bahdanau2014", "preset": "tiny", "embedding": 8, "hidden": 8, "align": 8},
    "transformer": {"name": "vaswani2017", "preset": "tiny", "width": 16, "inner": 16, "heads": 2},
}
TRAIN: dict[str, Any] = {
    "max_steps": 2,
    "check_every": 2,
    "judge_on": 2,
    "tokens": 200,
    "threads": 1,
    "device": "cpu",
    "warmup": 1,
}
DATA: dict[str, Any] = {
    "pairs": "pairs.tsv",
    "vocabulary": {"kind": "char", "size": 300, "byte_fallback": False},
    "valid_share": 0.25,
}


@dataclass(frozen=True)
class Samples:
    models: dict[str, Path]  # the folder of each one's run


def pairs_tsv() -> bytes:
    return "".join(f"{source}\t{target}\n" for source, target in PAIRS).encode()


def texts() -> bytes:
    return "".join(f"{text}\n" for text in TEXTS).encode()


def recipe(model: str) -> dict[str, Any]:
    data = {**DATA, "placeholders": ["number"]} if model == "rnn" else dict(DATA)
    return {"data": data, "model": dict(_TINY[model]), "train": dict(TRAIN)}


def recipe_toml(tables: dict[str, Any]) -> bytes:
    """With tables at the top as a user writes them; anything else as inline values."""
    lines = [f"{json.dumps(name)} = {as_toml(table)}" for name, table in tables.items() if not isinstance(table, dict)]
    for name, table in tables.items():
        if isinstance(table, dict):
            lines += [
                f"[{json.dumps(name)}]",
                *(f"{json.dumps(key)} = {as_toml(value)}" for key, value in table.items()),
            ]
    return "\n".join([*lines, ""]).encode()


def new_place(place: Path) -> Path:
    """A try's own folder, with canary files beside it that nothing may touch, and a module that nothing may import."""
    (place / "folder").mkdir(parents=True)
    (place / "canary" / "ssh").mkdir(parents=True)
    (place / "canary" / "secret").write_text("not yours\n")
    (place / "canary" / "ssh" / "authorized_keys").write_text("mine alone\n")
    (place / "folder" / "canary_module.py").write_text(MODULE)
    return place


def make_samples(place: Path) -> Samples:
    """Trains the models in processes of their own: the parent stays without threads, and so can be forked."""
    preload(["torch", "saccade.cli"])
    models = {}
    for name in _TINY:
        made = new_place(place / f"making-{name}")
        folder = made / "folder"
        (folder / "pairs.tsv").write_bytes(pairs_tsv())
        (folder / "recipe.toml").write_bytes(recipe_toml(recipe(name)))
        (folder / "in.txt").write_bytes(texts())
        rehearse(made, ["train", "recipe.toml", "--out", "out"])
        models[name] = folder / "out"
        for others in (["translate", "out", "in.txt", "--jsonl"], ["score", "out", "pairs.tsv"]):
            rehearse(made, others)
    rehearse(made, ["evaluate", "out", "pairs.tsv", "--resamples", "0", "--json"])
    rehearse(made, ["align", "out", "pairs.tsv"])
    rehearse(made, ["train", "recipe.toml", "--out", "out", "--resume"])
    rehearse(made, ["data", "pairs.tsv", "--json"])
    return Samples(models)


def add_model(random: Random, folder: Path, samples: Samples, *, whole: bool = False) -> str:
    """A copy of one of the models as `model`; its run's files (caches, state, log) come with it only if `whole`."""
    name = random.choice(sorted(samples.models))
    if whole:
        shutil.copytree(samples.models[name], folder / "model")
        return name
    (folder / "model").mkdir()
    for path in samples.models[name].iterdir():
        if path.is_file() and path.name not in ("metrics.jsonl", "recipe.toml"):
            shutil.copy(path, folder / "model" / path.name)
    return name


def set_options(tables: dict[str, dict[str, Any]]) -> list[str]:
    """--set for each value of these tables."""
    return [
        option
        for table, settings in tables.items()
        for key, value in settings.items()
        for option in ("--set", f"{table}.{key}={as_toml(value)}")
    ]
