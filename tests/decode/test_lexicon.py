"""IBM model 1 finds which tokens translate which, and the size of its blocks does not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.decode.shortlist import lexicon
from saccade.decode.shortlist.lexicon import IdPair, Lexicon, learn_lexicon

SIZE = 20
THE, A, HOUSE, BOOK, DAS, EIN, HAUS, BUCH = range(4, 12)
PAIRS: list[IdPair] = [([DAS, HAUS], [THE, HOUSE]), ([DAS, BUCH], [THE, BOOK]), ([EIN, BUCH], [A, BOOK])]

tokens = st.lists(st.integers(4, SIZE - 1), min_size=1, max_size=6)
corpora = st.lists(st.tuples(tokens, tokens), min_size=1, max_size=12)


def translations(learnt: Lexicon, count: int) -> dict[int, list[int]]:
    starts, best = learnt.best(count, SIZE)
    return {token: best[starts[token] : starts[token + 1]].tolist() for token in range(SIZE)}


def test_obvious_translations_come_first() -> None:
    learnt = learn_lexicon(PAIRS, SIZE)
    found = translations(learnt, 1)
    assert {token: row for token, row in found.items() if row} == {DAS: [THE], HAUS: [HOUSE], BUCH: [BOOK], EIN: [A]}
    assert translations(learnt, 5)[DAS] == [THE, HOUSE, BOOK]  # ties by id


def test_one_iteration_is_what_the_equations_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicon, "ITERATIONS", 1)
    learnt = learn_lexicon(PAIRS, SIZE)
    entries = zip(learnt.sources.tolist(), learnt.targets.tolist(), learnt.probabilities, strict=True)
    found = {(source, target): probability for source, target, probability in entries}
    # Each target token has three links, with the empty word 0 and with both words: every link counts 1/3. THE is linked
    # with DAS twice, HOUSE and BOOK once each.
    assert found[DAS, THE] == pytest.approx(1 / 2) and found[DAS, BOOK] == pytest.approx(1 / 4)
    assert found[0, THE] == found[0, BOOK] == pytest.approx(1 / 3)


@settings(deadline=None, max_examples=50)
@given(pairs=corpora, block=st.integers(1, 60))
def test_blocks_do_not_matter_and_probabilities_sum_to_one(pairs: list[IdPair], block: int) -> None:
    whole, advanced = learn_lexicon(pairs, SIZE), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexicon, "_BLOCK", block)
        parts = learn_lexicon(pairs, SIZE, advanced.append)
    assert np.array_equal(whole.sources, parts.sources) and np.array_equal(whole.targets, parts.targets)
    assert np.allclose(whole.probabilities, parts.probabilities, rtol=1e-9)
    assert sum(advanced) == len(pairs) * (lexicon.ITERATIONS + 1)
    sums = np.bincount(whole.sources, whole.probabilities)
    assert np.allclose(sums[np.unique(whole.sources)], 1.0)
    linked = {(source, target) for sources, targets in pairs for source in (0, *sources) for target in targets}
    assert linked == set(zip(whole.sources.tolist(), whole.targets.tolist(), strict=True))
