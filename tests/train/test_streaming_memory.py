"""Training on a corpus twenty times as large takes the same memory."""

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

PROGRAM = """
import json, resource, sys
from pathlib import Path
import torch
from saccade.data.batching import Batches
from saccade.train.translation import train
from saccade.train.dataset import load_dataset
from saccade.train.recipe import recipe_of

pairs, out, steps = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
recipe = recipe_of({
    "data": {
        "pairs": pairs, "streaming": True, "buffer": 5000, "vocab_lines": 5000,
        "vocabulary": {"kind": "bpe", "size": 600}, "valid_most": 50,
    },
    "model": {"name": "cho2014", "embedding": 8, "hidden": 8, "maxout": 8, "dropout": 0.0},
    "train": {
        "lr": 1e-2, "tokens": 2000, "max_steps": steps, "check_every": 1000, "judge": "loss", "device": "cpu",
        "schedule": "constant", "warmup": 1,
    },
}, "test")
train(recipe, out)
batches = Batches(load_dataset(recipe.data, out, 1).corpus, tokens=2000)
print(json.dumps({
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    "windows": batches.pairs.windows,
}))
"""


def write_corpus(path: Path, megabytes: int) -> Path:
    random = Random(1)
    words = ["".join(random.choices("abcdefghijklmnop", k=random.randint(2, 9))) for _ in range(2000)]
    texts = [" ".join(random.choices(words, k=8)) for _ in range(1000)]
    size = number = 0
    with path.open("w", encoding="utf-8") as stream:
        while size < megabytes << 20:
            size += stream.write(f"{number} {texts[number % 997]}\t{texts[number % 991]} {number}\n")
            number += 1
    return path


def measure_training(pairs: Path, out: Path, steps: int) -> dict[str, Any]:
    command = [sys.executable, "-c", PROGRAM, str(pairs), str(out), str(steps)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


@pytest.mark.slow
def test_corpus_of_100_mb_needs_no_more_memory_than_one_of_5(tmp_path: Path) -> None:
    small, large = write_corpus(tmp_path / "small.tsv", 5), write_corpus(tmp_path / "large.tsv", 100)
    steps = 300  # several windows: an update takes some 40 pairs, so that it is not what fills the memory
    on_small = measure_training(small, tmp_path / "little", steps)
    on_large = measure_training(large, tmp_path / "much", steps)
    assert on_large["windows"] > 15 * on_small["windows"] > 15
    # To keep the text would take 95 MB more; the same run differs by up to 30 from time to time.
    assert on_large["peak"] - on_small["peak"] < 48 << 10, (
        f"{on_small['peak'] >> 10} MiB became {on_large['peak'] >> 10}"
    )
