"""A model of targets alone, as docs/scoring.md recommends: trained on pairs of one source, and used to rerank."""

from collections.abc import Callable
from pathlib import Path

from test_training import QUICK, Run, refused, run  # noqa: F401

from saccade.data import TextPair


def test_pairs_of_one_source_train_a_prior(
    run: Run,  # noqa: F811
    saccade: Callable[..., tuple[int, str, str]],
    pairs: list[TextPair],
    model_folder: Path,
    tmp_path: Path,
) -> None:
    (tmp_path / "targets.tsv").write_text("".join(f"French\t{pair.target}\n" for pair in pairs))
    done = run("targets.tsv", "--vocab-from", model_folder, "--out", "prior", *QUICK)
    assert done.code == 0 and "kept 7 of 7 pairs" in done.err and "validation: kept 1 of 1 pair" in done.err
    (tmp_path / "new.txt").write_text("the cat sleeps\n")
    given = ("translate", model_folder, tmp_path / "new.txt", "--prior", tmp_path / "prior", "--prior-source", "French")
    code, out, _ = saccade(*given)
    assert code == 0 and out.count("\n") == 1


def test_pairs_that_are_all_alike_are_refused_with_advice_that_helps(
    refused: Callable[..., None],  # noqa: F811
    tmp_path: Path,
) -> None:
    (tmp_path / "p.tsv").write_text("French\til dort\n" * 9)
    refused("p.tsv", "--out", "m", *QUICK, said="p.tsv: 9 pairs, all alike; expected at least 2 that differ")
