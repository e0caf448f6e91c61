"""Settings that cannot be: one line that names the key, exit code 2, and no folder left behind."""

from collections.abc import Callable
from pathlib import Path

import pytest
from test_training import refused, run, tsv  # noqa: F401

from saccade import config
from saccade.models import MODELS


@pytest.mark.parametrize("name", MODELS)
def test_a_number_beyond_its_range(name: str, refused: Callable[..., None], tsv: bytes, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "p.tsv").write_bytes(tsv)
    for key in config.describe(MODELS[name].config_type, "model"):
        bad = "0" if "whole number" in key.type else "nan"
        if "number" in key.type:
            refused(
                "p.tsv", "--out", "m", "--model", name, "--set", f"{key.key}={bad}", said=f"--set: {key.key}: {bad}"
            )
