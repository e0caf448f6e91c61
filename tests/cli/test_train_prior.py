"""Train a model of targets alone, as docs/scoring.md recommends, and rerank with it."""

from collections.abc import Callable
from pathlib import Path

from running import QUICK, Run

from saccade.data import TextPair


def test_pairs_with_one_source_train_a_prior(
    train: Run,
    saccade: Run,
    pairs: list[TextPair],
    model_folder: Path,
    tmp_path: Path,
) -> None:
    (tmp_path / "targets.tsv").write_text("".join(f"French\t{pair.target}\n" for pair in pairs))
    done = train("targets.tsv", "--vocab-from", model_folder, "--out", "prior", *QUICK)
    assert done.code == 0 and "kept 7 of 7 pairs" in done.err and "validation: kept 1 of 1 pair" in done.err
    (tmp_path / "new.txt").write_text("the cat sleeps\n")
    command = (
        "translate",
        model_folder,
        tmp_path / "new.txt",
        "--prior",
        tmp_path / "prior",
        "--prior-source",
        "French",
    )
    code, out, _ = saccade(*command)
    assert code == 0 and out.count("\n") == 1


def test_identical_pairs_are_refused_with_advice(
    refused: Callable[..., None],
    tmp_path: Path,
) -> None:
    (tmp_path / "p.tsv").write_text("French\til dort\n" * 9)
    refused("p.tsv", "--out", "m", *QUICK, message="p.tsv: 9 pairs, all alike; expected at least 2 that differ")
