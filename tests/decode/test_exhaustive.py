"""A beam as wide as the number of possible texts finds the best one that meets all constraints."""

from typing import Any

import pytest
from brute_force import PIECES, Spelled, Watched, begun_with, contains_excluded, every, required, well_formed
from hypothesis import given, settings
from hypothesis import strategies as st
from search_models import single

from saccade.decode import Constraints, Search, run_search
from saccade.decode.constraints.choice import Rules
from saccade.text import EOS

SOURCE = (4, 5, EOS)
PHRASES = ["a", "b", "ab", "a a", "ba", "b a", "aa", "a-b"]
OUTLINES = ["a…", "a …", "… b", "a … b", "…ab…", "a … b …", "… a … b…", "b", "a a", "…b…a…"]

options = st.fixed_dictionaries(
    {},
    optional={
        "length_norm": st.sampled_from(["wu", "mean", "none"]),
        "length_penalty": st.sampled_from([-1.5, 0.0, 0.6, 1.0, 3.0]),
        "coverage_penalty": st.sampled_from([0.2, 2.0]),
        "no_repeat": st.integers(1, 3),
        "repeats": st.integers(1, 2),
        "shortest": st.integers(0, 2),
        "groups": st.integers(2, 3),
        "diversity": st.sampled_from([0.0, 1.5]),
    },
)
phrases = st.lists(st.sampled_from(PHRASES), min_size=1, max_size=2, unique=True).map(tuple)
constraints = st.one_of(
    st.just({}),
    st.fixed_dictionaries({}, optional={"include": phrases, "exclude": phrases}),
    st.fixed_dictionaries({"outline": st.sampled_from(OUTLINES)}, optional={"include": phrases, "exclude": phrases}),
    st.fixed_dictionaries({"prefix": st.sampled_from(["a", "ab", "a ", " a", "b b"])}, optional={"exclude": phrases}),
)


def check(seed: int, scale: float, given_: dict[str, Any], wanted: dict[str, Any], reverse: bool, longest: int) -> None:
    chain, tokeniser, constraints = Watched(seed, scale), Spelled(reverse), Constraints(**wanted)
    wide = sum(len(PIECES) ** length for length in range(longest + 1))
    shortest = min(given_.get("shortest", 0), longest - 1)
    beam = wide * given_.get("groups", 1)
    search = Search(**{**given_, "beam": beam, "longest": longest, "shortest": shortest})
    rules = Rules(constraints, tokeniser.token_bytes)
    ((best, *_),) = run_search(chain, *single(*SOURCE), search, rules=[rules])
    possible = {written: tokeniser.decode(written[:-1]) for written in every(longest)}
    possible = {written: text for written, text in possible.items() if not contains_excluded(text, constraints)}
    impossible = {
        label for label, _ in required("", constraints) if any(repr(label) in message for message in best.unmet)
    }
    if best.ended:  # then what it lacks was known to be impossible from the start
        for text in possible.values():
            assert not any(met for label, met in required(text, constraints) if label in impossible)
    may_be = {
        written: search.score(chain.log_prob(SOURCE[0], written), len(written), chain.coverage(written))
        for written, text in possible.items()
        if len(written) > search.shortest
        and well_formed(written[:-1], search, begun_with(written[:-1], constraints, tokeniser))
        and all(met for label, met in required(text, constraints) if not (best.ended and label in impossible))
    }
    if not may_be:
        assert not best.ended
        return
    assert best.ended and (*best.tokens, EOS) in may_be
    assert best.score == pytest.approx(max(may_be.values()), abs=1e-4)
    assert best.score == pytest.approx(may_be[*best.tokens, EOS], abs=1e-4)
    assert sum(best.token_log_probs) == pytest.approx(best.log_prob, abs=1e-4)


cases = given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.5, 2.0, 6.0]),
    given_=options,
    wanted=constraints,
    reverse=st.booleans(),
    longest=st.integers(1, 4),
)


@settings(deadline=None, max_examples=30, derandomize=True)
@cases
def test_a_wide_beam_finds_the_best_allowed_text(**case: Any) -> None:
    check(**{**case, "longest": min(case["longest"], 3)})


@pytest.mark.slow
@settings(deadline=None, max_examples=800, derandomize=True)
@cases
def test_a_wide_beam_finds_the_best_allowed_text_in_many_cases(**case: Any) -> None:
    check(**case)
