"""IBM models 1 and 2 and the HMM: worked examples, exact sums over all alignments, and the laws of EM."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.align.statistical import bitext, lexicon
from saccade.align.statistical.bitext import Bitext
from saccade.align.statistical.distances import FARTHEST, DistanceWeights
from saccade.align.statistical.em import STAGES, Direction, learn_direction
from saccade.align.statistical.hmm import Hmm, jump_classes
from saccade.align.statistical.ibm import P0, Ibm1, Ibm2, diagonal_classes
from saccade.align.statistical.lexicon import Floats, LexicalTable, exp_digamma

KOEHN = (("das Haus", "the house"), ("das Buch", "the book"), ("ein Buch", "a book"))

Texts = st.lists(st.tuples(*[st.text("abc", min_size=1, max_size=4)] * 2), min_size=1, max_size=5)
seeds = st.integers(0, 1000)


def corpus(pairs: list[tuple[str, str]]) -> Bitext:
    """Every letter is a word."""
    return Bitext.from_pairs((list(source), list(target)) for source, target in pairs)


def uniform(pairs: Bitext) -> LexicalTable:
    return LexicalTable.uniform(pairs.together.words()[0], len(pairs.target))


def entries(pairs: Bitext, table: LexicalTable) -> dict[tuple[int, int], float]:
    """t(f | e) by (e, f)"""
    return dict(zip(zip(*(ids.tolist() for ids in pairs.together.words())), table.words.tolist()))


def test_two_iterations_of_model_1_are_those_on_paper() -> None:
    """The example of Koehn (2010), without an empty word."""
    pairs = Bitext.from_pairs((source.split(), target.split()) for source, target in KOEHN)
    das, haus, buch, ein = pairs.source.find(["das", "Haus", "Buch", "ein"])
    the, house, book, a = pairs.target.find(["the", "house", "book", "a"])
    first, _ = Direction(uniform(pairs), Ibm1(p0=0)).improve(pairs.blocks, prior=0)
    # Every word is linked to both words of its pair by 1/2: das has 1/2 + 1/2 of "the", and 1/2 of house and of book.
    found = entries(pairs, first.lexicon)
    expected = {(das, the): 1 / 2, (das, house): 1 / 4, (das, book): 1 / 4, (haus, the): 1 / 2, (haus, house): 1 / 2}
    expected |= {(buch, the): 1 / 4, (buch, book): 1 / 2, (buch, a): 1 / 4, (ein, a): 1 / 2, (ein, book): 1 / 2}
    assert found == pytest.approx(expected)
    second, log_likelihood = first.improve(pairs.blocks, prior=0)
    # In das Haus, "the" comes from das by 1/2 : 1/2, and house by 1/4 : 1/2, so 1/3. In das Buch, "the" comes from das
    # by 1/2 : 1/4, so 2/3, and book by 1/4 : 1/2, so 1/3. In total 7/6, 1/3 and 1/3 of 11/6.
    found = entries(pairs, second.lexicon)
    assert [found[das, word] for word in (the, house, book)] == pytest.approx([7 / 11, 2 / 11, 2 / 11])
    # The probability of each pair is the product of the means 1/2, 3/8 | 3/8, 3/8 | 3/8, 1/2 of its words.
    assert log_likelihood == pytest.approx(2 * math.log(1 / 2) + 4 * math.log(3 / 8))


def test_the_empty_word_has_a_fixed_probability() -> None:
    expected = Ibm1(p0=0.25).expect(np.array([[[0.2, 0.4]]]), np.array([[0.1]]))
    # 1/4 · 0.1 of the empty word; 3/4 · 1/2 · 0.2 and 3/4 · 1/2 · 0.4 of the words: 0.025, 0.075, 0.15 of 0.25
    assert expected.empty.item() == pytest.approx(0.1)
    assert expected.words.ravel() == pytest.approx([0.3, 0.6])
    assert expected.log_likelihood == pytest.approx(math.log(0.25))


def test_the_diagonal_and_the_jumps_count_distances() -> None:
    assert (diagonal_classes(2, 4) - FARTHEST).tolist() == [[-1, 0, 1, 2], [-3, -2, -1, 0]]
    first, *jumps = jump_classes(3).tolist()
    assert first == [2 * FARTHEST + 1, 2 * FARTHEST + 2, 2 * FARTHEST + 3]
    assert jumps == [[FARTHEST + d for d in row] for row in ([0, 1, 2], [-1, 0, 1], [-2, -1, 0])]
    assert jump_classes(40)[1].max() == 2 * FARTHEST


def test_weights_of_distances_are_fitted_to_what_was_offered() -> None:
    """Distance 0 is chosen 3 of 4 times over distance 1, which is chosen 1 of 3 times over distance 2: the weights are
    in the ratios 3 : 1 and 1 : 2, although distance 0 was chosen most often of all."""
    classes = np.array([[0, 1], [1, 2]])
    fitted = DistanceWeights.equal(3)
    for _ in range(20):
        fitted = fitted.improve([(classes, np.array([[3.0, 1.0], [1.0, 2.0]]))])
    assert fitted.weights / fitted.weights[1] == pytest.approx([3, 1, 2], rel=1e-3)
    assert fitted.probabilities(classes) == pytest.approx(np.array([[3 / 4, 1 / 4], [1 / 3, 2 / 3]]), rel=1e-3)


def test_the_digamma_function() -> None:
    # ψ(1) = −γ, ψ(1/2) = −γ − 2 ln 2, ψ(x + 1) = ψ(x) + 1/x; at 0, ψ is −∞
    gamma = 0.5772156649015329
    found = exp_digamma(np.array([0.0, 0.5, 1.0, 2.0]))
    assert found == pytest.approx([0, math.exp(-gamma) / 4, math.exp(-gamma), math.exp(1 - gamma)], abs=1e-9)


def draw_hmm(seed: int, targets: int, sources: int) -> tuple[Hmm, Floats, Floats]:
    draw = np.random.default_rng(seed)
    weights = DistanceWeights(draw.random(3 * FARTHEST + 2))
    return Hmm(0.3, weights), draw.random((targets, 1, sources)), draw.random((targets, 1))


@pytest.mark.parametrize(("targets", "sources"), [(1, 1), (3, 2), (2, 3), (4, 3)])
def test_the_hmm_sums_over_all_alignments(targets: int, sources: int) -> None:
    model, words, empty = draw_hmm(targets * 10 + sources, targets, sources)
    jumps = model.distances.probabilities(jump_classes(sources))
    total, of_words, of_empty = 0.0, np.zeros((targets, sources)), np.zeros(targets)
    moves = np.zeros((sources + 1, sources))
    for choices in product(range(sources + 1), repeat=targets):  # 0 is the empty word
        place, probability, taken = 0, 1.0, []
        for j, choice in enumerate(choices):
            if choice:
                probability *= 0.7 * jumps[place, choice - 1] * words[j, 0, choice - 1]
                taken.append((place, choice - 1))
                place = choice
            else:
                probability *= 0.3 * empty[j, 0]
        total += probability
        for j, choice in enumerate(choices):
            if choice:
                of_words[j, choice - 1] += probability
            else:
                of_empty[j] += probability
        for before, after in taken:
            moves[before, after] += probability
    expected = model.expect(words, empty)
    assert expected.log_likelihood == pytest.approx(math.log(total))
    assert expected.words[:, 0] == pytest.approx(of_words / total)
    assert expected.empty[:, 0] == pytest.approx(of_empty / total)
    assert expected.moves == pytest.approx(moves / total)


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_posteriors_sum_to_1(seed: int) -> None:
    draw = np.random.default_rng(seed)
    targets, pairs, sources = draw.integers(1, 6, 3).tolist()
    words, empty = draw.random((targets, pairs, sources)) ** 20, draw.random((targets, pairs)) ** 20
    for model in (Ibm1(), Ibm2(), Hmm()):
        expected = model.expect(words, empty)
        assert expected.words.sum(axis=2) + expected.empty == pytest.approx(np.ones((targets, pairs)))
        assert expected.words.sum(axis=(0, 1)) == pytest.approx(expected.moves.sum(axis=0))


@pytest.mark.parametrize("kind", [Ibm1, Ibm2, Hmm])
@given(pairs=Texts)
@settings(max_examples=25, deadline=None)
def test_the_likelihood_never_falls(kind: type[Ibm1 | Ibm2 | Hmm], pairs: list[tuple[str, str]]) -> None:
    """Without a prior: variational Bayes maximises a bound of another likelihood."""
    learnt = corpus(pairs)
    direction, _ = Direction(uniform(learnt), Ibm1()).improve(learnt.blocks, prior=0)
    direction, found = Direction(direction.lexicon, kind()), []
    for _ in range(6):
        direction, log_likelihood = direction.improve(learnt.blocks, prior=0)
        found.append(log_likelihood)
    assert all(after >= before - 1e-9 for before, after in pairwise(found)), found


@pytest.mark.parametrize("model", STAGES)
def test_a_result_does_not_depend_on_blocks_and_chunks(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    pairs = [tuple("".join(draw.choice([*"abcdef"], draw.integers(1, 5))) for _ in range(2)) for _ in range(60)]
    whole = corpus(pairs)
    expected = learn_direction(model, whole.blocks, uniform(whole), iterations=2)
    monkeypatch.setattr(bitext, "BLOCK_LINKS", 10)
    for module in (bitext, lexicon):
        monkeypatch.setattr(module, "CHUNK_LINKS", 25)
    parts = corpus(pairs)
    assert len(parts.blocks) > len(whole.blocks) and np.array_equal(parts.together.keys, whole.together.keys)
    found = learn_direction(model, parts.blocks, uniform(parts), iterations=2)
    assert found.lexicon.words == pytest.approx(expected.lexicon.words)
    assert found.lexicon.empty == pytest.approx(expected.lexicon.empty)
    for block in parts.blocks[:5]:  # the other pairs of a block do not matter
        (together,) = (other for other in whole.blocks if block.numbers[0] in other.numbers)
        place = together.numbers.tolist().index(block.numbers[0])
        assert found.expect(block).words[:, 0] == pytest.approx(expected.expect(together).words[:, place])


def test_the_reverse_direction_has_the_same_links() -> None:
    pairs = corpus([("ab", "xyz"), ("b", "x"), ("bb", "yyx")])
    for block in pairs.blocks:
        swapped = block.swapped()
        assert np.array_equal(swapped.entries, block.entries.transpose(2, 1, 0))
        keys = block.source[:, None, :] * pairs.together.width + block.target[:, :, None]  # (B, T, S)
        assert np.array_equal(pairs.together.keys[block.entries.transpose(1, 0, 2)], keys)
    assert len(set(pairs.together.keys.tolist())) == len(pairs.together.keys)
    assert 0 < P0 < 1
