"""Which tokens translate which, by IBM model 1."""

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
    # At first, each target token is linked with both words of its sentence equally: THE is linked with DAS twice, HOUSE
    # and BOOK once each.
    assert found[DAS, THE] == pytest.approx(1 / 2) and found[DAS, BOOK] == pytest.approx(1 / 4)


@settings(deadline=None, max_examples=50)
@given(pairs=corpora)
def test_entries_are_the_tokens_that_occur_together(pairs: list[IdPair]) -> None:
    advanced: list[int] = []
    learnt = learn_lexicon(pairs, SIZE, advanced.append)
    assert sum(advanced) == len(pairs) * (lexicon.ITERATIONS + 1)
    sums = np.bincount(learnt.sources, learnt.probabilities)
    assert np.allclose(sums[np.unique(learnt.sources)], 1.0)
    linked = {(source, target) for sources, targets in pairs for source in sources for target in targets}
    assert sorted(linked) == list(zip(learnt.sources.tolist(), learnt.targets.tolist(), strict=True))
