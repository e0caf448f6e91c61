"""Small models, trained on the phrasebook: a channel and a prior choose better among ten hypotheses than the search."""

from pathlib import Path

import pytest

import saccade
from saccade import lm
from saccade.evaluation import score
from saccade.tasks import task

FEW = ("data.count=3000", "data.words=[3, 7]", "train.tokens=600", "train.max_steps=260", "train.lr=3e-3")


def pairs(count: int, seed: int, split: str = "train") -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in task("phrasebook-en-fr").pairs(count, seed, split, (3, 7))]


@pytest.mark.slow
def test_channel_and_prior_improve_held_out_translations(tmp_path: Path) -> None:
    """As measured, chrF rises from 52 to 65. The prior has read more sentences than the translators, as it should;
    benchmarks/reranking.py has the gain of each, and of other priors."""
    for direction in ("en-fr", "fr-en"):
        settings = [*FEW, "train.device=cpu"]
        saccade.fit(f"task:phrasebook-{direction}", out=tmp_path / direction, settings=settings)
    french = "".join(f"{target}\n" for _, target in pairs(20_000, seed=7))
    (tmp_path / "fr.txt").write_text(french, encoding="utf-8")
    lm.train(tmp_path / "fr.txt", out=tmp_path / "fr-lm", order=4)
    model = saccade.load(tmp_path / "en-fr", device="cpu")
    judges = {"channel": tmp_path / "fr-en", "prior": tmp_path / "fr-lm"}
    tuned = model.tune_reranking(pairs(150, 3, "valid"), out=tmp_path / "weights.json", **judges)
    assert tuned.after >= tuned.before and tuned.weights["channel"] > 0
    sources, references = zip(*pairs(150, 4, "test"), strict=True)
    searched, reranked = (
        score([each.text for each in model.translate(sources, beam=10, **options)], references)["chrf"]
        for options in ({}, {"rerank_weights": tmp_path / "weights.json", **judges})
    )
    assert reranked > searched + 3
