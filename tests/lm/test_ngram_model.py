"""From a text to a folder and back; what the model says of texts; ARPA files."""

import math
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import saccade
from saccade import lm
from saccade.errors import UserError
from saccade.ngrams.chen1998 import NgramTable
from saccade.ngrams.ngram_model import NgramModel
from saccade.tasks import task

SENTENCES = [pair.source for pair in islice(task("phrasebook-en-fr").pairs(1300, seed=1), 1300)]
TRAIN, TEST = SENTENCES[:1200], SENTENCES[1200:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("lm")
    (place / "text.txt").write_text("".join(f"{text}\n" for text in TRAIN), encoding="utf-8")
    lm.train(place / "text.txt", out=place / "model", order=4)
    return place


@pytest.fixture
def model(folder: Path) -> NgramModel:
    return lm.load(folder / "model")


def test_longer_histories_predict_better(folder: Path, model: NgramModel) -> None:
    perplexities = {4: model.score(TEST).perplexity}
    for order in (1, 2, 3):
        shorter = lm.train(folder / "text.txt", out=folder / f"order-{order}", order=order)
        perplexities[order] = shorter.score(TEST).perplexity
    assert max(perplexities[3], perplexities[4]) < perplexities[2] < 0.5 * perplexities[1]
    shuffled = [" ".join(np.random.default_rng(1).permutation(text.split())) for text in TEST]
    assert model.score(shuffled).perplexity > 5 * perplexities[4]


def test_scores_of_lines_add_up(model: NgramModel) -> None:
    texts = ["the cat sleeps .", "", "the xyzzy sleeps ."]
    each, total = [*model.score_texts(texts)], model.score(texts)
    assert [(one.tokens, one.unknown) for one in each] == [(5, 0), (1, 0), (5, 1)]
    assert total.log_probability == pytest.approx(sum(one.log_probability for one in each))
    assert (total.texts, total.tokens, total.unknown) == (3, 11, 1)
    assert total.perplexity == pytest.approx(math.exp(-total.log_probability / 11))
    assert total.known_perplexity < total.perplexity
    with pytest.raises(UserError, match="nothing to score: there are no texts"):
        model.score([])


def test_texts_are_drawn_from_the_model(model: NgramModel) -> None:
    texts = [*model.generate(count=200, seed=3)]
    assert texts == [*model.generate(count=200, seed=3)] != [*model.generate(count=200, seed=4)]
    scored = model.score(texts)
    assert scored.unknown == 0 and scored.perplexity < 1.5 * model.score(TEST).perplexity
    started = [*model.generate(start="the cat", count=20, temperature=0.5)]
    assert all(text.startswith("the cat") for text in started)
    assert model.score(started).perplexity < scored.perplexity
    assert all(len(text.split()) <= 3 for text in model.generate(longest=3, count=20))


def test_characters_are_units_too(folder: Path) -> None:
    letters = lm.train(folder / "text.txt", out=folder / "letters", unit="char", order=5, lower=True)
    assert letters.split("A b") == ["a", " ", "b"]
    assert letters.score(["THE CAT"]).unknown == 0
    assert any(" " in text for text in letters.generate(seed=1))


def test_rare_words_count_as_unknown(folder: Path) -> None:
    few = lm.train(folder / "text.txt", out=folder / "few", order=2, most_words=20)
    assert len(few.words) == 20
    score = few.score(TEST)
    assert 0 < score.unknown < score.tokens


def arpa_probability(tables: list[dict[tuple[str, ...], tuple[float, float]]], text: list[str]) -> float:
    """log₁₀ p of the last word, by backing off as readers of ARPA do"""
    weight = 0.0
    for start in range(len(text)):
        gram, history = tuple(text[start:]), tuple(text[start:-1])
        if gram in tables[len(gram) - 1]:
            return weight + tables[len(gram) - 1][gram][0]
        weight += tables[len(history) - 1].get(history, (0.0, 0.0))[1] if history else 0.0
    raise AssertionError(text)


def test_arpa_files_say_the_same(model: NgramModel, tmp_path: Path) -> None:
    model.save_arpa(tmp_path / "model.arpa")
    tables: list[dict[tuple[str, ...], tuple[float, float]]] = []
    for line in (tmp_path / "model.arpa").read_text(encoding="utf-8").splitlines():
        if line.endswith("-grams:"):
            tables.append({})
        elif "\t" in line:
            log, gram, *weight = line.split("\t")
            tables[-1][tuple(gram.split(" "))] = float(log), float(weight[0]) if weight else 0.0
    assert [len(table) for table in tables] == [len(table.keys) for table in model.ngrams.tables]
    for text in [*TEST[:20], "the xyzzy cat ."]:
        words = ["<s>", *(word if word in model.words else "<unk>" for word in model.split(text)), "</s>"]
        total = sum(arpa_probability(tables, words[max(0, end - 4) : end]) for end in range(2, len(words) + 1))
        (score,) = model.score_texts([text])
        assert total * math.log(10) == pytest.approx(score.log_probability, abs=1e-3)


@pytest.mark.slow
def test_kenlm_reads_the_same_probabilities(model: NgramModel, tmp_path: Path) -> None:
    import kenlm

    model.save_arpa(tmp_path / "model.arpa")
    theirs = kenlm.Model(str(tmp_path / "model.arpa"))
    for text, score in zip(TEST, model.score_texts(TEST), strict=True):
        log10 = theirs.score(" ".join(model.split(text)))
        assert log10 * math.log(10) == pytest.approx(score.log_probability, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "value"),
    [("keys", [3, 2, 1]), ("keys", [-5, 1, 2]), ("keys", [0.5, 1, 2]), ("left", [1.0, 1.0]), ("passed", [-1.0, 0, 0])],
)
def test_tables_from_elsewhere_are_checked(name: str, value: list[float]) -> None:
    sound = {"keys": np.arange(3), "left": np.zeros(3), "passed": np.ones(3)}
    assert NgramTable(**sound).is_sound
    assert not NgramTable(**sound | {name: np.array(value)}).is_sound


def test_folders_are_checked(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the folder is not empty"):
        lm.train(folder / "text.txt", out=folder / "model")
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(UserError, match=r"^empty.txt: no words; expected a text, one sentence per line$"):
        lm.train(tmp_path / "empty.txt", out=tmp_path / "out")
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())
    with pytest.raises(UserError, match="n-grams, not a model that translates; `saccade lm` reads them"):
        saccade.load(folder / "model")
    with pytest.raises(UserError, match="a chen1998 model, not word vectors"):
        saccade.words.load(folder / "model")
    weights = folder / "model" / "model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + b"!")
    with pytest.raises(UserError, match="its checksum differs"):
        lm.load(folder / "model")
    weights.write_bytes(content)
