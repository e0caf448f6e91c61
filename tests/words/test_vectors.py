"""Neighbours, analogies, judgements and maps, on vectors that can be checked by hand."""

import math
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from saccade import words
from saccade.errors import UserError
from saccade.words import WordVectors
from saccade.words.judging import rank_correlation
from saccade.words.map import choose_words, draw_map, project
from saccade.words.options import MapOptions

matplotlib.use("Agg")
NAMES = ["king", "queen", "man", "woman", "apple"]
MATRIX = np.array([[1, 1, 0], [1, -1, 0], [0.2, 1, 0], [0.2, -1, 0], [0, 0, 1]], np.float32)
VECTORS = WordVectors(NAMES, MATRIX, name="royal", cased=False)


def test_neighbours_are_sorted_by_cosine() -> None:
    found = VECTORS.similar("king", 2)
    assert [word for word, _ in found] == ["man", "queen"]
    assert found[0].similarity == pytest.approx(1.2 / math.sqrt(2 * 1.04))
    assert len(VECTORS.similar("king", 100)) == 4  # without itself


def test_an_analogy_follows_the_difference() -> None:
    # With length 1, queen − king + man = (0.196, −0.434, 0), and woman = (0.196, −0.981, 0).
    cosine = (0.1961**2 + 0.4336 * 0.9806) / math.hypot(0.1961, 0.4336)
    assert VECTORS.analogy("king", "queen", "man", 1) == [("woman", pytest.approx(cosine, abs=1e-3))]


def test_words_are_folded_where_the_text_was() -> None:
    assert "King" in VECTORS and VECTORS["KING"].tolist() == [1, 1, 0]
    assert "King" not in WordVectors(NAMES, MATRIX)


def test_an_unknown_word_names_a_near_spelling() -> None:
    with pytest.raises(UserError, match=r"^royal: the word 'quen' is not among the 5 words; did you mean 'queen'\?$"):
        VECTORS.similar("quen")
    with pytest.raises(UserError, match=r"^royal: the word 'xyzzy' is not among the 5 words$"):
        VECTORS.similar("xyzzy")


def test_vectors_of_zeros_have_no_direction() -> None:
    vectors = WordVectors(["a", "b", "c"], np.array([[0, 0], [1, 0], [1, 1]], np.float32))
    assert [cosine for _, cosine in vectors.similar("a")] == [0, 0]


def test_ranks_that_are_equal_are_shared() -> None:
    ranked = rank_correlation(np.array([1.0, 2, 2, 3]), np.array([10.0, 20, 30, 40]))
    # Ranks 1, 2.5, 2.5, 4 and 1, 2, 3, 4: covariance 4.5 of variances 4.5 and 5.
    assert ranked == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert rank_correlation(np.ones(3), np.array([1.0, 2, 3])) == 0


def test_judgements_of_people(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text("# words\nking\tman\t9\nking\tqueen\t5\nking\tapple\t4.5\nking\tpear\t1\n", encoding="utf-8")
    score = words.score_similarity(VECTORS, path)
    assert (score.scored, score.pairs) == (3, 4)
    assert score.correlation == pytest.approx(math.sqrt(3) / 2)  # the cosines of queen and apple are both 0
    path.write_text("king man 9\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"pairs.tsv:1: expected two words and a number, separated by tabs"):
        words.score_similarity(VECTORS, path)
    path.write_text("pear\tplum\t9\n", encoding="utf-8")
    with pytest.raises(UserError, match="has the words of 0 of 1 pairs"):
        words.score_similarity(VECTORS, path)


def test_analogies_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    path.write_text(": family\nKing Queen Man Woman\nking queen woman man\nking queen pear plum\n", encoding="utf-8")
    score = words.score_analogies(VECTORS, path)
    assert (score.correct, score.scored, score.questions) == (1, 2, 3) and score.accuracy == 50
    path.write_text("king queen man\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"questions.txt:1: 3 words; expected four"):
        words.score_analogies(VECTORS, path)


def test_words_of_a_map() -> None:
    assert choose_words(VECTORS, MapOptions(top=3, skip=1)) == ["queen", "man", "woman"]
    assert choose_words(VECTORS, MapOptions(top=3, skip=50)) == ["king", "queen", "man"]  # there are not so many
    assert choose_words(VECTORS, MapOptions(words=("King",), neighbours=2)) == ["king", "man", "queen"]
    with pytest.raises(UserError, match="needs at least 3 words, got 1"):
        choose_words(VECTORS, MapOptions(words=("king",)))


def test_the_two_axes_are_those_of_the_largest_variance() -> None:
    matrix = np.random.default_rng(1).normal(size=(50, 6)).astype(np.float32) * [9, 1, 1, 5, 1, 1]
    points = project(matrix.astype(np.float32), "pca", 1)
    assert abs(np.corrcoef(points[:, 0], matrix[:, 0])[0, 1]) > 0.99
    assert abs(np.corrcoef(points[:, 1], matrix[:, 3])[0, 1]) > 0.99


def test_labels_of_a_map_do_not_overlap() -> None:
    from matplotlib import pyplot

    crowd = WordVectors([f"word{n}" for n in range(300)], np.random.default_rng(1).normal(size=(300, 4)).astype("f4"))
    notes: list[str] = []
    axes = draw_map(crowd, MapOptions(top=300, skip=0), say=notes.append)
    boxes = [text.get_window_extent() for text in axes.texts]
    assert 100 < len(boxes) < 300
    assert notes == [f"{300 - len(boxes)} of 300 labels would overlap others and are left out; show fewer words"]
    assert not any(one.overlaps(other) for place, one in enumerate(boxes) for other in boxes[:place])
    pyplot.close()


def test_the_title_of_a_map_is_in_the_chosen_language() -> None:
    from matplotlib import pyplot

    assert draw_map(VECTORS, MapOptions(skip=0, lang="en")).get_title() == "royal: PCA of 5 words"
    notes: list[str] = []  # of a machine without a Chinese font
    title = draw_map(VECTORS, MapOptions(skip=0, lang="zh"), say=notes.append).get_title()
    assert title == ("royal: PCA of 5 words" if notes else "royal：5 个词（PCA）")
    pyplot.close("all")


@pytest.mark.slow
def test_neighbours_stay_neighbours_in_tsne() -> None:
    random = np.random.default_rng(1)
    centres = random.normal(size=(3, 20)) * 5
    matrix = (np.repeat(centres, 20, 0) + random.normal(size=(60, 20))).astype(np.float32)
    points = project(matrix, "tsne", 1)
    groups = points.reshape(3, 20, 2)
    spread = np.linalg.norm(groups - groups.mean(1, keepdims=True), axis=-1).max()
    assert min(np.linalg.norm(groups[a].mean(0) - groups[b].mean(0)) for a, b in ((0, 1), (0, 2), (1, 2))) > spread
