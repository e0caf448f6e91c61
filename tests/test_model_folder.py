import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from saccade import files, model_folder
from saccade.errors import UserError
from saccade.model_folder import ModelConfig

MODEL = ModelConfig(model="cho2014", config={"width": 4, "dropout": 0.1}, extra={"temperature": 1.5, "name": "é"})


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 4)
        self.output = nn.Linear(4, 5)
        self.output.weight = self.embed.weight


def saved(folder: Path) -> Path:
    model_folder.save_model(folder, {"w": torch.ones(64)}, MODEL)
    model_folder.save_training(folder, {"step": 1, "w": torch.ones(64)})
    return folder


def test_saved_model_loads_bit_equal_with_tied_weights(tmp_path: Path) -> None:
    model = Tied()
    model_folder.save_model(tmp_path / "model", model.state_dict(), MODEL)
    tensors, config = model_folder.load_model(tmp_path / "model")
    assert config == MODEL == model_folder.load_config(tmp_path / "model")
    assert sorted(tensors) == ["embed.weight", "output.bias", "output.weight"]
    assert tensors["embed.weight"] is tensors["output.weight"]
    other = Tied()
    other.load_state_dict(tensors)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters(), strict=True))
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == ["config.json", "model.safetensors"]


def test_resumed_optimiser_continues_exactly(tmp_path: Path) -> None:
    def step(model: Tied, optimiser: torch.optim.Optimizer) -> None:
        optimiser.zero_grad()
        model.output(model.embed(torch.randint(5, (8,)))).logsumexp(-1).sum().backward()
        optimiser.step()

    model = Tied()
    optimiser = torch.optim.AdamW(model.parameters())
    step(model, optimiser)
    state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "torch": torch.get_rng_state()}
    model_folder.save_training(tmp_path, state)
    step(model, optimiser)

    back = model_folder.load_training(tmp_path)
    again = Tied()
    again.load_state_dict(back["model"])
    resumed = torch.optim.AdamW(again.parameters())
    resumed.load_state_dict(back["optimiser"])
    torch.set_rng_state(back["torch"])
    step(again, resumed)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_one_save_of_everything_keeps_other_files(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("{}\n")
    with files.atomic_folder(tmp_path) as new:
        saved(new)
        (new / "README.md").write_text("# card")
    assert model_folder.load_training(tmp_path)["step"] == 1
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    training = {"training/state.json", "training/state.safetensors"}
    assert names == {"metrics.jsonl", "README.md", "config.json", "model.safetensors"} | training


def test_vocabularies_are_checked(tmp_path: Path) -> None:
    spm = tmp_path / "spm.model"
    spm.write_bytes(b"pieces")
    hashes = {"spm.model": files.sha256(b"pieces")}
    model_folder.save_model(tmp_path, {}, ModelConfig(model="m", config={}, vocabularies=hashes))
    assert model_folder.load_model(tmp_path)[1].vocabularies == hashes
    spm.write_bytes(b"other pieces")
    with pytest.raises(UserError, match=r"spm\.model: not the vocabulary that this model was trained with"):
        model_folder.load_model(tmp_path)
    spm.unlink()
    with pytest.raises(UserError, match=r"it has no spm\.model"):
        model_folder.load_model(tmp_path)
    model_folder.save_model(tmp_path, {}, ModelConfig(model="m", config={}, vocabularies={"../spm.model": "0"}))
    with pytest.raises(UserError, match="not a file inside"):
        model_folder.load_model(tmp_path)


def test_folder_without_a_model_is_refused_with_the_missing_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere: no such folder; expected a model folder"):
        model_folder.load_model(tmp_path / "nowhere")
    with pytest.raises(UserError, match=r"it has no config\.json and no model\.safetensors"):
        model_folder.load_model(tmp_path)
    model_folder.save_model(tmp_path, {}, MODEL)
    with pytest.raises(UserError, match=r"not a run that can be resumed: it has no training/state\.json"):
        model_folder.load_training(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="file: not a folder"):
        model_folder.load_config(tmp_path / "file")


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_other_format_version_is_refused_with_advice(tmp_path: Path) -> None:
    saved(tmp_path)
    for name, load in (("config.json", model_folder.load_model), ("training/state.json", model_folder.load_training)):
        edit(tmp_path / name, format=99, saccade="9.1")
        with pytest.raises(UserError, match=r"format 99, written by Saccade 9\.1; .* use that version"):
            load(tmp_path)
    edit(tmp_path / "config.json", format=model_folder.FORMAT, modle="x")
    with pytest.raises(UserError, match=r"config\.json: modle: unknown key; did you mean 'model'\?"):
        model_folder.load_model(tmp_path)
    (tmp_path / "config.json").write_text('{"architectures": []}')
    with pytest.raises(UserError, match="not written by Saccade"):
        model_folder.load_model(tmp_path)


def truncate(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip(content: bytes) -> bytes:
    """One bit, in the values: at the end of a safetensors file, in a number of the JSON."""
    middle = content.find(b'"step": ') + 8 if b'"step": ' in content else len(content) - 2
    return content[:middle] + bytes([content[middle] ^ 2]) + content[middle + 1 :]


@pytest.mark.parametrize("harm", [truncate, flip, lambda content: b""])
@pytest.mark.parametrize("name", ["model.safetensors", "training/state.safetensors", "training/state.json"])
def test_damaged_file_is_reported_by_name(tmp_path: Path, name: str, harm: Callable[[bytes], bytes]) -> None:
    path = saved(tmp_path) / name
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(UserError, match=f"{name}: damaged or half copied") as caught:
        model_folder.load_training(tmp_path) if "training" in name else model_folder.load_model(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b'{"format": 1,', b"\xff\xfe", b"[]"])
def test_damaged_config_is_reported_by_name(tmp_path: Path, content: bytes) -> None:
    (saved(tmp_path) / "config.json").write_bytes(content)
    with pytest.raises(UserError, match=r"config\.json: (damaged or half copied|not written by Saccade)"):
        model_folder.load_model(tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "state.safetensors", "state.json"])
def test_full_disk_keeps_the_previous_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    saved(tmp_path)

    def full(write: Callable[..., int]) -> Callable[..., int]:
        def some(self: Path, content: Any, **options: Any) -> int:
            if self.name != name:
                return write(self, content, **options)
            write(self, content[:10], **options)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        return some

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full(Path.write_bytes))
        patch.setattr(Path, "write_text", full(Path.write_text))
        with (
            pytest.raises(UserError, match="No space left on device while writing; what was there before is intact"),
            files.atomic_folder(tmp_path) as new,
        ):
            model_folder.save_model(new, {"w": torch.zeros(64)}, MODEL)
            model_folder.save_training(new, {"step": 2, "w": torch.zeros(64)})
    assert model_folder.load_model(tmp_path)[0]["w"].tolist() == [1.0] * 64
    assert model_folder.load_training(tmp_path)["step"] == 1
    assert not list(tmp_path.glob(".*"))


def test_reader_beside_a_writer_sees_one_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the reader's look at config.json and at the weights, a whole new version is written."""
    model_folder.save_model(tmp_path, {"w": torch.zeros(2)}, MODEL)
    read, writes = Path.read_bytes, iter([1.0, 2.0])

    def interrupted(self: Path) -> bytes:
        if self.name == "model.safetensors" and (value := next(writes, None)) is not None:
            model_folder.save_model(tmp_path, {"w": torch.full((2,), value)}, MODEL)
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", interrupted)
    assert model_folder.load_model(tmp_path)[0]["w"].tolist() == [2.0, 2.0]


# Starting Python with torch takes seconds: it is done once, and each line of stdin makes a fork, which is killed.
SAVER = """
import os, sys
from pathlib import Path
import torch
from saccade import model_folder, files

torch.set_num_threads(1)
folder = Path(sys.argv[1])

def save_on_and_on():
    start = model_folder.load_training(folder)["step"] + 1
    for step in range(start, start + 1000):
        tensor = torch.full((20_000,), float(step))
        with files.atomic_folder(folder) as new:
            model_folder.save_model(new, {"w": tensor}, model_folder.ModelConfig(model="m", config={"step": step}))
            model_folder.save_training(new, {"step": step, "w": tensor})

while sys.stdin.readline():
    if (child := os.fork()) == 0:
        save_on_and_on()
        os._exit(1)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.mark.slow
def test_killed_at_random_moments_the_folder_is_always_whole(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    model_folder.save_model(folder, {"w": torch.zeros(20_000)}, ModelConfig(model="m", config={"step": 0}))
    model_folder.save_training(folder, {"step": 0, "w": torch.zeros(20_000)})
    moments = random.Random(0)
    steps = [0]
    command = [sys.executable, "-c", SAVER, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as saver:
        assert saver.stdin is not None and saver.stdout is not None
        for _ in range(20):
            saver.stdin.write("\n")
            saver.stdin.flush()
            child = int(saver.stdout.readline())
            time.sleep(moments.uniform(0.01, 0.2))
            os.kill(child, signal.SIGKILL)
            assert int(saver.stdout.readline()) == signal.SIGKILL
            steps.append(whole_step(folder))
        saver.stdin.close()
    assert steps == sorted(steps) and steps[-1] > 5
    saved(folder)
    assert not list(folder.glob(".*"))


def whole_step(folder: Path) -> int:
    """The step of the checkpoint, all parts of which must be of that one step."""
    tensors, config = model_folder.load_model(folder)
    state = model_folder.load_training(folder)
    step = config.config["step"]
    assert isinstance(step, int) and state["step"] == step
    assert torch.equal(tensors["w"], torch.full((20_000,), float(step))) and torch.equal(state["w"], tensors["w"])
    return step
