"""Word vectors learn which words occur together, on the loop that trains every model."""

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import saccade
from saccade import words
from saccade.data.text_files import LoadedFile
from saccade.errors import UserError
from saccade.words import learner
from saccade.words.corpus import read_corpus
from saccade.words.options import WordTraining
from saccade.words.vectors import WordVectors

TOPICS = {
    "kitchen": ["cook", "pan", "spoon", "oven", "soup", "plate"],
    "harbour": ["boat", "sail", "anchor", "wave", "pier", "crew"],
}
QUICK = {"size": 8, "window": 3, "min_count": 1, "subsample": 0.0, "batch": 256, "threads": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(1)
    lines = [" ".join(random.choice(TOPICS[topic], 8)) for topic in random.choice(list(TOPICS), 400)]
    path = tmp_path_factory.mktemp("text") / "topics.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def separation(vectors: WordVectors) -> float:
    """How much more similar words of one topic are than words of two"""
    near = [vectors.similarity(a, b) for topic in TOPICS.values() for a in topic for b in topic if a < b]
    far = [vectors.similarity(a, b) for a in TOPICS["kitchen"] for b in TOPICS["harbour"]]
    return float(np.mean(near) - np.mean(far))


@pytest.mark.parametrize("method", ["skip-gram", "cbow"])
def test_words_of_a_topic_become_similar(text: Path, tmp_path: Path, method: str) -> None:
    trained = words.train(text, out=tmp_path / "trained", method=method, epochs=20, lr=0.05, **QUICK)
    untrained = words.train(text, out=tmp_path / "untrained", method=method, epochs=1, lr=1e-9, **QUICK)
    assert separation(trained) > 0.8 > 0.4 > separation(untrained)
    assert {word for word, _ in trained.similar("boat", 5)} == set(TOPICS["harbour"]) - {"boat"}
    assert separation(words.load(tmp_path / "trained")) == separation(trained)


def test_an_interrupted_run_continues_to_the_bit(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = words.train(text, out=tmp_path / "whole", epochs=3, **QUICK)
    validate = learner.WordLearner.validate

    def interrupt(self: Any, *arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return validate(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(learner.WordLearner, "validate", interrupt)
        with pytest.raises(UserError, match=r"interrupted by SIGTERM at step \d+; call train\(…, resume=True\)"):
            words.train(text, out=tmp_path / "cut", epochs=3, **QUICK)
    resumed = words.train(text, out=tmp_path / "cut", epochs=3, resume=True, **QUICK)
    assert np.array_equal(resumed.matrix, whole.matrix)

    with pytest.raises(UserError, match="a resumed run keeps its options: size was 8, is 9"):
        words.train(text, out=tmp_path / "cut", epochs=3, resume=True, **{**QUICK, "size": 9})
    text_of_another = text.with_name("another.txt")
    text_of_another.write_text(text.read_text() + "one more line\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"text was .*topics.txt, is .*another.txt"):
        words.train(text_of_another, out=tmp_path / "cut", epochs=3, resume=True, **QUICK)


def test_a_run_of_another_kind_is_not_resumed(text: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no run to resume"):
        words.train(text, out=tmp_path / "new", resume=True, **QUICK)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.toml").write_text("[train]\n")
    with pytest.raises(UserError, match="not a run of `saccade words train`"):
        words.train(text, out=tmp_path / "run", resume=True, **QUICK)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"^small.txt: no words; expected a text, one sentence per line$"),
        ("one two two\n", r"3 words, of which 0 occur so often; .*lower --min-count \(now 5\)$"),
        (
            "one one one one one one\n",
            "6 words, of which 1 occurs so often; .*at least 2 words that occur 5 times or more",
        ),
    ],
)
def test_a_text_that_is_too_small_says_what_it_needs(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "small.txt"
    path.write_text(content)
    with pytest.raises(UserError, match=message):
        words.train(path, out=tmp_path / "out")
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def test_trouble_with_the_encoding_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "latin1.txt"
    path.write_bytes("bon\nété\n".encode("latin1"))
    with pytest.raises(UserError, match=r"latin1.txt:2: byte 1 of the line is 0xE9, which is not UTF-8.*iconv"):
        words.train(path, out=tmp_path / "out")


def corpus_of(text: str, **options: Any) -> Any:
    return read_corpus(LoadedFile("t.txt", text.encode()), WordTraining(text="t.txt", min_count=1, **options))


def test_the_most_frequent_words_are_kept() -> None:
    corpus = corpus_of("b b b a a c\nC. c\n", most_words=3)
    assert corpus.words == ("b", "c", "a") and corpus.counts.tolist() == [3, 3, 2]
    assert corpus.read == 9 and len(corpus.train) == 8  # without the point
    assert corpus_of("Cat cat's\n", cased=True, tokenised=True).words == ("Cat", "cat's")


def test_some_sentences_are_held_out_of_a_larger_text() -> None:
    corpus = corpus_of("".join(f"word{n % 50} and more\n" for n in range(1000)))
    assert set(corpus.train.numbers.tolist()).isdisjoint(corpus.valid.numbers.tolist())
    assert len(set(corpus.valid.numbers.tolist())) == 10
    small = corpus_of("a b\nb a\n")
    assert small.train is small.valid


def test_folders_of_other_models_are_told_apart(text: Path, tmp_path: Path) -> None:
    words.train(text, out=tmp_path / "words", epochs=1, **QUICK)
    with pytest.raises(UserError, match="word vectors, not a model that translates"):
        saccade.load(tmp_path / "words")
    listed = tmp_path / "words" / "words.json"
    listed.write_text(listed.read_text().replace("boat", "bout"), encoding="utf-8")
    with pytest.raises(UserError, match=r"words.json: not the vocabulary that this model was trained with"):
        words.load(tmp_path / "words")


def test_progress_shows_no_perplexity(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words.train(text, out=tmp_path / "words", epochs=1, **QUICK)
    log = capsys.readouterr().err
    assert "mikolov2013: 192 parameters" in log and "perplexity" not in log
