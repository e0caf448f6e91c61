"""Options are checked on construction, and scores equal the papers' formulas."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.decode import DEFAULT_SEARCH, Search

BAD: list[dict[str, Any]] = [
    {"beam": 0},
    {"n_best": 0},
    {"beam": 2, "n_best": 3},
    *({"sample": True, "temperature": value} for value in (0.0, -1.0, math.nan, math.inf)),
    *({"sample": True, "top_p": value} for value in (0.0, 1.1, math.nan)),
    *({"sample": True, "min_p": value} for value in (-0.1, 1.1, math.nan)),
    {"sample": True, "top_k": 0},
    {"temperature": 0.5},
    {"top_k": 3},
    {"top_p": 0.9},
    {"min_p": 0.1},
    {"length_norm": "google"},
    {"length_penalty": math.nan},
    {"coverage_penalty": -0.1},
    {"coverage_penalty": math.inf},
    {"beam": 5, "groups": 2},
    {"groups": 0},
    {"beam": 4, "sample": True, "groups": 2},
    {"beam": 4, "groups": 2, "diversity": -1.0},
    {"no_repeat": 0},
    {"repeats": -1},
    {"longest": 0},
    {"longest_ratio": math.inf},
    {"shortest_ratio": -1.0},
    {"longest": 3, "shortest": 3},
    {"seed": -1},
]


@pytest.mark.parametrize("options", BAD, ids=str)
def test_invalid_options_are_refused(options: dict[str, Any]) -> None:
    name, value = list(options.items())[-1]
    with pytest.raises(ValueError, match=f"{name}.*{value}"):
        Search(**options)


def test_length_limits_follow_the_source() -> None:
    assert Search().length_limits(7) == (0, 24) and Search().length_limits(7, required=3) == (0, 27)
    assert Search(longest=5, shortest=2).length_limits(70, required=9) == (2, 5)
    assert Search(longest_ratio=1.5, shortest_ratio=0.5).length_limits(7) == (4, 21)
    assert Search(shortest=100).length_limits(1) == (11, 12)  # the longest goes before the shortest


def test_scores_by_hand() -> None:
    assert Search().score(-6.0, 7) == pytest.approx(-6.0 / 2)
    assert Search(length_penalty=0.5).score(-6.0, 19) == pytest.approx(-6.0 / 2)
    assert Search(length_norm="mean").score(-6.0, 4) == pytest.approx(-1.5)
    assert Search(length_norm="none", length_penalty=3.0).score(-6.0, 4) == -6.0
    assert Search(coverage_penalty=0.2).score(-6.0, 7, coverage=math.log(0.5)) == pytest.approx(
        -3 + 0.2 * math.log(0.5)
    )


@given(
    norm=st.sampled_from(["wu", "mean", "none"]),
    penalty=st.floats(-3, 3),
    log_prob=st.floats(-50, 0),
    length=st.integers(0, 20),
    shortest=st.integers(0, 25),
    more=st.integers(0, 20),
    falls=st.floats(0, 5),
    coverage=st.floats(-5, 0),
)
def test_no_continuation_exceeds_the_score_bound(
    norm: Any, penalty: float, log_prob: float, length: int, shortest: int, more: int, falls: float, coverage: float
) -> None:
    search = Search(length_norm=norm, length_penalty=penalty, coverage_penalty=0.5)
    end = max(length, shortest) + 1 + more
    for longest in (end, end + 7):
        most = search.score_bound(log_prob, length, shortest, longest)
        assert search.score(log_prob - falls, end, coverage) <= most + 1e-9


def test_with_options_widens_the_beam() -> None:
    assert DEFAULT_SEARCH.with_options() == DEFAULT_SEARCH
    assert DEFAULT_SEARCH.with_options(n_best=3).beam == 5 and DEFAULT_SEARCH.with_options(n_best=7).beam == 7
    assert DEFAULT_SEARCH.with_options(groups=3).beam == 6 and DEFAULT_SEARCH.with_options(groups=3, n_best=7).beam == 9
    assert DEFAULT_SEARCH.with_options(sample=True).beam == 1
    assert DEFAULT_SEARCH.with_options(sample=True, n_best=4).beam == 4
    assert DEFAULT_SEARCH.with_options(beam=2).beam == 2
