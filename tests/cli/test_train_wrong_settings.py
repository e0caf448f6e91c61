"""Impossible settings: one line that names the key, exit code 2, and no folder left behind."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from running import QUICK, Run

from saccade import config
from saccade.models import MODELS


@pytest.mark.parametrize("name", MODELS)
def test_number_out_of_range_is_refused(name: str, refused: Callable[..., None], tsv: bytes, tmp_path: Path) -> None:
    (tmp_path / "p.tsv").write_bytes(tsv)
    for key in config.describe(MODELS[name].config_type, "model"):
        bad = "0" if "whole number" in key.type else "nan"
        if "number" in key.type:
            refused(
                "p.tsv", "--out", "m", "--model", name, "--set", f"{key.key}={bad}", message=f"--set: {key.key}: {bad}"
            )


OWN = """
from saccade.attention import Attention, Dot

def nothing(): return None
def number(query_dim, memory_dim, width): return 7
def narrow(query_dim, memory_dim, width): return Attention(query_dim=3, memory_dim=3, score=Dot())
def broken(query_dim, memory_dim, width): return {}["key"]
def whole(query_dim, memory_dim, width):
    return Attention(query_dim=query_dim, memory_dim=memory_dim, width=width, score=Dot(), project="qk")
"""


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ("attention=luong2015-global-dot",),
            "attention 'luong2015-global-dot' does not fit: the score 'dot' compares",
        ),
        (("attention=su2021", "align=7"), "rotary rotates pairs of features"),
        (("attention=own:nothing",), "TypeError: nothing() got an unexpected keyword argument 'query_dim'"),
        (("attention=own:number",), "it returns int, expected a saccade.attention.Attention"),
        (("attention=own:narrow",), "query_dim=8 is needed, and it returns one of 3"),
        (("attention=own:broken",), "KeyError: 'key'"),
    ],
    ids=str,
)
def test_attention_that_does_not_fit_is_refused(
    settings: tuple[str, ...],
    message: str,
    refused: Callable[..., None],
    tsv: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "p.tsv").write_bytes(tsv)
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    chosen = [part for setting in settings for part in ("--set", f"model.{setting}")]
    command = ("p.tsv", "--out", "m", *QUICK, "--set", "model.name=bahdanau2014", "--model", "bahdanau2014", *chosen)
    refused(*command, message=message)
    refused(*command, message="saccade: model.attention: ")


def test_vocabulary_of_another_language_gives_a_warning(
    train: Run,
    tsv: bytes,
    tmp_path: Path,
) -> None:
    (tmp_path / "p.tsv").write_bytes(tsv)
    greek = "".join(f"ο σκύλος κοιμάται {number}\tle chat dort {number}\n" for number in range(9))
    (tmp_path / "greek.tsv").write_text(greek, encoding="utf-8")
    assert "warning" not in train("p.tsv", "--out", "m", *QUICK).err
    short = ("--set", "train.max_steps=1", "--set", "train.judge=loss", "--set", "train.device=cpu")
    assert "warning" not in train("p.tsv", "--out", "further", "--init-from", "m", *short).err
    done = train("greek.tsv", "--out", "other", "--init-from", "m", *short)
    assert done.code == 0
    (warning,) = [line for line in done.err.splitlines() if "warning" in line]
    assert "the vocabulary of m does not know" in warning and "% of the tokens of these sources" in warning
