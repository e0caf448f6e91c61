"""Model folders that were spoilt or forged, as somebody may have downloaded them."""

import hashlib
import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from .child import Ended
from .corpora import SEARCH
from .mutating import VALUES, as_json, spoil_bytes, spoil_value
from .oracle import Accepted, Case
from .samples import TEXTS, Samples, add_model, pairs_tsv, recipe, recipe_toml, texts

CHECKED = ("model.safetensors", "tokeniser.model", "tokeniser.json")  # by their SHA-256 in config.json
NAMES = ("canary_module:Model", "canary_module:factory", "os:system", "builtins:eval", "../canary_module:Model", "none")
SLOW_PATTERNS = ("(a+)+$", "(a|aa)+$", "(.*a){25}", "a{1,30000}{1,30000}", "(?:(?:a*)*)*b", "([a-z]+)*!x")
PATHS = ("../canary/secret", "/etc/passwd", "..", ".", "a/../../canary/secret", "C:\\x", "nul\0", "")

Spoil = Callable[[Random, Path], bool]  # whether the folder must be refused now


def build(random: Random, folder: Path, samples: Samples) -> Case:
    resumes = random.random() < 0.12
    add_model(random, folder, samples, whole=resumes)
    (folder / "in.txt").write_bytes(texts())
    (folder / "pairs.tsv").write_bytes(pairs_tsv())
    model = folder / "model"
    if resumes:
        return _resumed(random, model)
    spoil = random.choice(_SPOILS)
    refuse = spoil(random, model)
    arguments, outputs = _command(random, folder)
    return Case(
        arguments=arguments,
        accepted=_sound(refuse=refuse, written=arguments[0]),
        outputs=outputs,
        about=f"model folder {spoil.__name__.strip('_')}",
    )


def _command(random: Random, folder: Path) -> tuple[list[str], tuple[str, ...]]:
    command = random.choices(("translate", "score", "align", "train", "data", "ensemble"), (12, 2, 2, 2, 1, 1))[0]
    if command == "translate":
        return ["translate", "model", "in.txt", "--jsonl", *SEARCH], ()
    if command == "ensemble":
        return ["translate", "model", "in.txt", "--jsonl", "--ensemble", "model", *SEARCH], ()
    if command == "data":
        return ["data", "pairs.tsv", "--json", "--vocab-from", "model"], ()
    if command == "train":
        settings = recipe("rnn")
        del settings["model"], settings["data"]["placeholders"]
        settings["train"] |= {"init_from": "model"}
        settings["data"] |= {"vocab_from": "model"}
        described = json.loads((folder / "given.json").read_text()) if (folder / "given.json").exists() else {}
        settings["model"] = {"name": "bahdanau2014", "preset": "tiny", **described}
        (folder / "recipe.toml").write_bytes(recipe_toml(settings))
        return ["train", "pairs.tsv", "--init-from", "model", "--out", "out", "--set", "train.max_steps=1"], ("out",)
    return [command, "model", "pairs.tsv", "--device", "cpu"], ()


def _bytes(random: Random, model: Path) -> bool:
    """Any file; those that are checked must be refused."""
    path = random.choice(sorted(path for path in model.iterdir() if path.is_file()))
    before = path.read_bytes()
    path.write_bytes(spoil_bytes(random, before))
    return path.name in _checked(model) and path.read_bytes() != before


def _checked(model: Path) -> tuple[str, ...]:
    return (*CHECKED, "placeholders.json")


def _described(random: Random, model: Path) -> bool:
    config = _config(model)
    config, _ = spoil_value(random, config)
    (model / "config.json").write_bytes(as_json(config))
    return False


def _sizes(random: Random, model: Path) -> bool:
    """A size that the weights do not have."""
    config = _config(model)
    named = [name for name, value in config["config"].items() if isinstance(value, int) and not isinstance(value, bool)]
    name = random.choice(named)
    config["config"][name] = random.choice((0, -1, 7, 1000, 10**6, 10**9, 10**18, 10**30, True, 1.5, "8"))
    (model / "config.json").write_bytes(as_json(config))
    return False


def _names(random: Random, model: Path) -> bool:
    """Code that is not the package's."""
    config = _config(model)
    if random.random() < 0.5:
        config["model"] = random.choice(NAMES)
    else:
        config["config"]["attention"] = random.choice(NAMES)
    (model / "config.json").write_bytes(as_json(config))
    return "attention" in config["config"] or config["model"] in NAMES


def _weights(random: Random, model: Path) -> bool:
    """Other weights, with the checksum that is right for them."""
    import safetensors.torch
    import torch

    path = model / "model.safetensors"
    tensors = safetensors.torch.load(path.read_bytes())
    name = random.choice(sorted(tensors))
    change = random.choice(("nan", "inf", "double", "integer", "shape", "missing", "extra", "empty", "header", "half"))
    if change in ("nan", "inf"):
        spoilt = tensors[name].clone()
        spoilt.view(-1)[random.randrange(spoilt.numel())] = float(change)
        tensors[name] = spoilt
    elif change in ("double", "integer", "half"):
        kind = {"double": torch.float64, "integer": torch.int64, "half": torch.float16}[change]
        tensors[name] = tensors[name].to(kind)
    elif change == "shape":
        tensors[name] = tensors[name].reshape(-1)[:-1].clone()
    elif change == "missing":
        del tensors[name]
    elif change == "extra":
        tensors[f"{name}.more"] = torch.zeros(1)
    elif change == "empty":
        tensors = {}
    content = safetensors.torch.save(tensors)
    if change == "header":
        content = random.choice((2**63 - 1, 10**9, 0, len(content))).to_bytes(8, "little") + content[8:]
    path.write_bytes(content)
    _put(model, sha256=hashlib.sha256(content).hexdigest())
    return True


def _links(random: Random, model: Path) -> bool:
    """A file or folder of the model is a link to something outside."""
    path = random.choice(sorted(path for path in model.iterdir() if path.is_file()))
    outside = model.parents[1] / "canary"
    if random.random() < 0.5:  # the same content, from outside
        shutil.move(path, outside / path.name)
        path.symlink_to(f"../../canary/{path.name}")
    else:
        path.unlink()
        path.symlink_to(random.choice(("../../canary/secret", "/etc/passwd", "/dev/zero", path.name, "../../canary")))
    return path.name != "README.md"


def _journal(random: Random, model: Path) -> bool:
    """What a writer that was killed would have left; here it leads outside."""
    committed, kind = model / ".committed", random.randrange(5)
    if kind == 0:
        committed.symlink_to("../../canary")
    elif kind == 1:
        (committed / "extra").mkdir(parents=True)
        (committed / "extra" / "authorized_keys").write_text("an attacker's\n")
        (model / "extra").symlink_to("../../canary/ssh")
    elif kind == 2:
        committed.mkdir()
        (committed / "config.json").symlink_to("../../../canary/secret")
    elif kind == 3:
        committed.mkdir()
        shutil.copy(model / "config.json", committed / "config.json")
    else:
        (model / ".writing-0000").mkdir()
        committed.write_text("a file, not a folder")
    return False


def _missing(random: Random, model: Path) -> bool:
    path = random.choice(sorted(path for path in model.iterdir() if path.is_file()))
    path.unlink()
    if random.random() < 0.5:
        path.mkdir()
    return path.name != "README.md"


def _paths(random: Random, model: Path) -> bool:
    """A vocabulary's file is outside."""
    config = _config(model)
    config["vocabularies"][random.choice(PATHS)] = hashlib.sha256(b"not yours\n").hexdigest()
    (model / "config.json").write_bytes(as_json(config))
    return True


def _patterns(random: Random, model: Path) -> bool:
    """Regular expressions that take for ever; listed in config.json, or lying there unlisted."""
    content = as_json({"kinds": [random.choice(SLOW_PATTERNS)] * random.choice((1, 1, 2000))})
    (model / "placeholders.json").write_bytes(content)
    config = _config(model)
    config["vocabularies"].pop("placeholders.json", None)
    if random.random() < 0.6:
        config["vocabularies"]["placeholders.json"] = hashlib.sha256(content).hexdigest()
    (model / "config.json").write_bytes(as_json(config))
    return False


def _extra(random: Random, model: Path) -> bool:
    config = _config(model)
    name = random.choice(("calibration", "reader", "longest_trained", "other"))
    value = random.choice((*VALUES, {"layer": random.choice(VALUES)}, {"shift": 99}, {"head": -5, "layer": 10**9}))
    config["extra"][name] = value
    (model / "config.json").write_bytes(as_json(config))
    return False


_SPOILS: tuple[Spoil, ...] = (
    *(_bytes, _bytes, _described, _described, _sizes, _names, _weights, _weights),
    *(_links, _journal, _missing, _paths, _patterns, _extra),
)


def _resumed(random: Random, run: Path) -> Case:
    """A run's folder to go on with: its state, its log, its recipe or its cache was spoilt."""
    path = random.choice(sorted(path for path in run.rglob("*") if path.is_file()))
    before = path.read_bytes()
    path.write_bytes(spoil_bytes(random, before))
    name = str(path.relative_to(run))
    checked = path.read_bytes() != before and name.startswith("training/")
    arguments = ["train", "pairs.tsv", "--out", "model", "--resume", "--set", "train.max_steps=3"]
    accepted = _sound(refuse=checked, written="train")
    return Case(arguments=arguments, accepted=accepted, outputs=("model",), about=f"run folder {path.name}")


def _config(model: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((model / "config.json").read_bytes())
    return found


def _put(model: Path, **values: Any) -> None:
    (model / "config.json").write_bytes(as_json({**_config(model), **values}))


def _sound(*, refuse: bool, written: str) -> Accepted:
    """A folder that must be refused was not; or what was written of it is not a sound answer."""

    def accepted(ended: Ended, folder: Path) -> str | None:
        if refuse and written != "data":
            return "a folder that must be refused"
        if written != "translate":
            return None if "nan" not in ended.out.lower() else "a score that is not a number"
        answers = [json.loads(line) for line in ended.out.removesuffix("\n").split("\n")]
        if len(answers) != len(TEXTS):
            return f"lines were lost: {len(TEXTS)} given, {len(answers)} written"
        finite = all(math.isfinite(answer[name]) for answer in answers for name in ("score", "log_prob"))
        return None if finite else "a score that is not a number"

    return accepted
