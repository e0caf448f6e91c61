"""Aligners that learn from pairs alone: their links, and how good they are."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from saccade.align import AlignedPair, GoldLinks, StatisticalAligner, align_corpus, learn_aligner, score_alignments
from saccade.align.options import AlignOptions, StatisticalModel
from saccade.align.statistical import learning
from saccade.data import TextPair
from saccade.errors import UserError
from saccade.ranges import OptionError

TOY = [("the house", "das Haus"), ("the book", "das Buch"), ("a book", "ein Buch")] * 3
MODELS: tuple[StatisticalModel, ...] = ("ibm1", "ibm2", "hmm")


@cache
def aligner_of(model: StatisticalModel) -> StatisticalAligner:
    return learn_aligner(TOY, model)


def align(aligner: StatisticalAligner, *pairs: tuple[str, str]) -> list[AlignedPair]:
    return list(aligner.align(TextPair(*pair) for pair in pairs))


@pytest.mark.parametrize("model", MODELS)
def test_new_pairs_are_aligned_whatever_their_case(model: StatisticalModel) -> None:
    aligner = aligner_of(model)
    one, other = align(aligner, ("a house", "ein Haus"), ("A HOUSE", "EIN HAUS"))
    assert one.links == other.links == {(0, 0), (1, 1)}
    assert (one.unit, one.source, one.target, one.attention) == ("word", ("a", "house"), ("ein", "Haus"), None)
    assert one.weights.shape == (2, 2) and (one.weights.sum(axis=1) <= 1).all()
    assert (one.weights.diagonal() > 0.5).all()


@pytest.mark.parametrize("model", MODELS)
def test_unknown_words_and_blank_sides_are_no_mistakes(model: StatisticalModel) -> None:
    known, unknown, blank, both = align(
        aligner_of(model), ("the book", "das Buch"), ("xx yy zz", "uu vv"), ("", "das Haus"), ("", "")
    )
    assert known.links == {(0, 0), (1, 1)} and np.isfinite(unknown.weights).all()
    assert (blank.source, blank.target, blank.links, blank.weights.shape) == ((), ("das", "Haus"), frozenset(), (2, 0))
    assert both.links == frozenset()


@pytest.mark.parametrize("model", MODELS)
def test_a_pair_is_aligned_alone_as_among_others(model: StatisticalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    aligner, pairs = aligner_of(model), [("the a book", "das ein Buch"), ("house", "das Haus"), ("", ""), *TOY]
    together = align(aligner, *pairs)
    monkeypatch.setattr(learning, "CHUNK", 2)
    for chunked, one in zip(align(aligner, *pairs), together, strict=True):
        assert chunked.links == one.links and chunked.weights == pytest.approx(one.weights)
    for pair, one in zip(pairs, together, strict=True):
        (alone,) = align(aligner, pair)
        assert alone.links == one.links and alone.weights == pytest.approx(one.weights)


def test_one_direction_is_learnt_if_links_are_not_symmetrised() -> None:
    one, both = learn_aligner(TOY, symmetrise="none"), learn_aligner(TOY)
    assert one.backward is None and one.symmetrised is None and both.symmetrised == "grow-diag-final"
    assert np.array_equal(one.forward.lexicon.words, both.forward.lexicon.words)  # and the same every time
    pair = ("the the book", "das Buch")
    (forward,), (symmetrised,) = align(one, pair), align(replace(both, symmetrisation="union"), pair)
    assert len({target for _, target in forward.links}) == len(forward.links)  # one source word per target word
    assert forward.links <= symmetrised.links


def test_more_pairs_are_learnt_from_but_not_aligned() -> None:
    lines: list[str] = []
    options = AlignOptions(learn_from="task:phrasebook-en-fr", iterations=1, symmetrise="none")
    task_pairs, learning.TASK_PAIRS = learning.TASK_PAIRS, 30
    try:
        result = align_corpus("ibm1", [("a cat sleeps.", "un chat dort.")], options, write=lines.append)
    finally:
        learning.TASK_PAIRS = task_pairs
    assert len(lines) == 1 and result.to_dict()["learnt_pairs"] == 31


def test_tokenised_text_is_split_at_white_space() -> None:
    ruled, spaced = learn_aligner(TOY), learn_aligner(TOY, tokenised=True)
    pair = ("the house...", "das Haus...")
    assert align(spaced, pair)[0].source == ("the", "house...")
    assert align(ruled, pair)[0].source[:2] == ("the", "house")


def test_very_long_pairs_are_aligned_but_not_learnt_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "LONGEST", 3)
    long = ("the house the house", "das Haus das Haus")
    aligner = learn_aligner([*TOY, long])
    assert aligner.learnt_pairs == len(TOY)
    assert align(aligner, long)[0].links >= {(0, 0), (1, 1)}
    with pytest.raises(UserError, match="the pairs: no pair to learn from; expected texts on both sides, of at most 3"):
        learn_aligner([long, ("", "das")])


def test_mistakes_are_reported_before_any_work() -> None:
    with pytest.raises(UserError, match="unknown model 'ibm4': choose one of ibm1, ibm2, hmm"):
        learn_aligner(TOY, "ibm4")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="layer needs a trained model; hmm has no attention"):
        learn_aligner(TOY, layer=1)
    with pytest.raises(TypeError, match="there is no option 'iteration'"):
        learn_aligner(TOY, iteration=1)


def test_the_phrasebook_is_aligned_better_by_each_richer_model() -> None:
    results = {model: align_corpus(model, "task:phrasebook-en-fr") for model in MODELS}
    errors = {model: result.scores[model].aer for model, result in results.items()}
    diagonal = results["hmm"].scores["diagonal"].aer
    assert errors["ibm1"] < 0.6 * diagonal
    assert max(errors["ibm2"], errors["hmm"]) < 0.6 * errors["ibm1"]  # which of the two is better depends on the pairs
    assert results["hmm"].tables()[0][1][0][0] == "hmm"


def test_the_links_of_the_posteriors_are_written() -> None:
    gold = [GoldLinks.all_sure({(0, 0), (1, 1)})] * len(TOY)
    found = align(aligner_of("hmm"), *TOY)
    assert score_alignments([pair.links for pair in found], gold).aer == 0
