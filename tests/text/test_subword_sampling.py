"""Sampled segmentations have the same text, the probabilities of the papers, and depend on the seed alone."""

import math
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.errors import UserError
from saccade.text import Tokeniser
from saccade.text.tokeniser import SYMBOLS, Kind

LINES = [
    "The old dog sleeps near the bank of the river.",
    "Le vieux chien dort près de la rive du fleuve.",
    "She does not help the child, who reads a long book.",
    "老狗睡在河岸边。",
] * 8
KINDS: tuple[Kind, ...] = ("unigram", "bpe")
TOKENISERS = {kind: Tokeniser.train(LINES, kind=kind, size=380, symbols=SYMBOLS) for kind in KINDS}
texts = st.one_of(
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])),
    st.lists(st.sampled_from(["the", " ", "  ", "▁", "sleeps", "狗", "👍", "é", SYMBOLS[2], "."])).map("".join),
)


@settings(deadline=None, max_examples=40)
@given(st.sampled_from(KINDS), texts, st.integers(0, 9), st.sampled_from([0.1, 0.5]))
def test_a_sampled_segmentation_has_the_same_text(kind: Kind, text: str, seed: int, rate: float) -> None:
    tokeniser = TOKENISERS[kind]
    drawn = tokeniser.sample(text, Random(seed), rate)
    assert tokeniser.decode(drawn) == text
    assert drawn == tokeniser.sample(text, Random(seed), rate)


@settings(deadline=None, max_examples=40)
@given(texts)
def test_sampling_without_noise_is_the_usual_segmentation(text: str) -> None:
    assert TOKENISERS["bpe"].sample(text, Random(1), 0.0) == TOKENISERS["bpe"].encode(text)
    usual, drawn = (TOKENISERS["unigram"], TOKENISERS["unigram"].sample(text, Random(1), 1e6))
    score = usual._pieces.get_score
    assert math.isclose(sum(map(score, drawn)), sum(map(score, usual.encode(text))), abs_tol=1e-3)  # or one as likely


def test_unigram_segmentations_have_their_probabilities() -> None:
    tokeniser, word, alpha = TOKENISERS["unigram"], "sleeps", 0.5
    pieces = tokeniser._pieces
    ways = [tuple(ids) for ids in pieces.nbest_encode_as_ids(" " + word, nbest_size=64)]
    weights = {ids: math.exp(alpha * sum(map(pieces.get_score, ids))) for ids in ways}
    random = Random(3)
    drawn = Counter(tuple(tokeniser.sample(word, random, alpha)) for _ in range(4000))
    assert set(drawn) <= set(ways)
    for ids, weight in weights.items():
        expected = weight / sum(weights.values())
        assert abs(drawn[ids] / 4000 - expected) < 4 * math.sqrt(expected / 4000) + 1e-3


def test_bpe_without_any_merge_is_characters() -> None:
    tokeniser = TOKENISERS["bpe"]
    assert tokeniser.tokens(tokeniser.sample("the dog", Random(1), 1.0)) == [*"▁the▁dog"]
    lengths = [len(tokeniser.sample(LINES[0], Random(seed), 0.1)) for seed in range(30)]
    assert len(tokeniser.encode(LINES[0])) < sum(lengths) / 30 < len(LINES[0])
    assert len({tuple(tokeniser.sample(LINES[0], Random(seed), 0.1)) for seed in range(30)}) > 20


def test_a_seed_gives_the_same_samples_in_any_process(tmp_path: Path) -> None:
    for kind in KINDS:
        TOKENISERS[kind].save(tmp_path, kind)
    program = (
        "from random import Random; from saccade.text import Tokeniser\n"
        f"for kind in {KINDS!r}:\n"
        f"    tokeniser = Tokeniser.load({str(tmp_path)!r}, kind)\n"
        f"    print([tokeniser.sample(line, Random(f'1 {{n}}'), 0.2) for n, line in enumerate({LINES[:4]!r})])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    here = [
        [TOKENISERS[kind].sample(line, Random(f"1 {n}"), 0.2) for n, line in enumerate(LINES[:4])] for kind in KINDS
    ]
    assert done.stdout.splitlines() == [str(ids) for ids in here]


def test_a_vocabulary_of_words_is_not_sampled() -> None:
    words = Tokeniser.train(LINES, kind=cast(Kind, "word"), size=380)
    with pytest.raises(UserError, match="a vocabulary of words splits a text in one way"):
        words.sample("a", Random(1))
