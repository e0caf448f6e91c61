"""A network learns a text: what it says of texts, what it writes, and what it attends to."""

import math
import os
import signal
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import saccade
from saccade import lm
from saccade.data.texts import LINE_END
from saccade.errors import UserError
from saccade.lm.network_model import NetworkModel
from saccade.ranges import OptionError
from saccade.tasks import task
from saccade.text import BOS, EOS
from saccade.train.translation import TranslationLearner

SENTENCES = [pair.source for pair in islice(task("phrasebook-en-fr").pairs(1300, seed=1), 1300)]
TRAIN, TEST = SENTENCES[:1200], SENTENCES[1200:]
SMALL = {
    "elman1990": ("model.embedding=16", "model.hidden=32"),
    "bengio2003": ("model.embedding=16", "model.hidden=32", "model.order=4"),
    "cheng2016": ("model.embedding=16", "model.hidden=32", "model.align=16"),
    "radford2018": ("model.width=32", "model.inner=64", "model.heads=2"),
}
QUICK = ("train.tokens=600", "train.threads=1", "train.device=cpu", "train.warmup=20", "model.dropout=0.0")


def train(text: Path, out: Path, model: str, *settings: str, **options: Any) -> NetworkModel:
    chosen = (*SMALL[model], *QUICK, *settings)
    trained = lm.train(text, out=out, model=model, **{"unit": "word", "budget": "150"} | options, settings=chosen)
    assert isinstance(trained, NetworkModel)
    return trained


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("".join(f"{text}\n" for text in TRAIN), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def folder(text: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("gpt") / "model"
    train(text, place, "radford2018", "train.lr=0.01", budget="300")
    return place


@pytest.fixture
def model(folder: Path) -> NetworkModel:
    return lm.load_network(folder, device="cpu")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow]) for name in SMALL])
def test_every_network_learns_words_in_their_context(text: Path, tmp_path: Path, name: str) -> None:
    untrained = train(text, tmp_path / "untrained", name, "train.lr=1e-9", budget="1").score(TEST).perplexity
    single = lm.train(text, out=tmp_path / "unigrams", order=1).score(TEST).perplexity
    trained = train(text, tmp_path / "trained", name, "train.lr=0.01", budget="400")
    perplexity = trained.score(TEST).perplexity
    assert perplexity < 0.25 * single < 0.5 * untrained, (perplexity, single, untrained)
    shuffled = [" ".join(np.random.default_rng(1).permutation(sentence.split())) for sentence in TEST]
    assert trained.score(shuffled).perplexity > 4 * perplexity


def test_a_gpt_learns(model: NetworkModel, text: Path, tmp_path: Path) -> None:
    unigrams = lm.train(text, out=tmp_path / "unigrams", order=1)
    scored = model.score(TEST)
    assert scored.perplexity < 0.5 * unigrams.score(TEST).perplexity
    assert scored.tokens == unigrams.score(TEST).tokens  # words are the same for both


def test_scores_are_the_log_probabilities_of_the_equations(model: NetworkModel) -> None:
    text = TEST[0]
    (scores,) = model.score_tokens([text])
    ids = model.tokeniser.encode(text)
    with torch.inference_mode():
        none = torch.zeros(1, 1, dtype=torch.long)
        logits = model.translator.model(none, none.bool(), torch.tensor([[BOS, *ids]]))
    expected = logits.log_softmax(-1)[0, torch.arange(len(ids) + 1), torch.tensor([*ids, EOS])]
    assert scores.log_probs.tolist() == pytest.approx(expected.tolist(), abs=1e-4)
    assert model.split(text) == text.split() or len(model.split(text)) == len(ids)
    (one,), total = model.score_texts([text]), model.score([text])
    assert (one.tokens, one.words, one.characters) == (len(ids) + 1, len(ids) + 1, len(text) + 1)
    assert total.word_perplexity == pytest.approx(math.exp(-one.log_probability / one.words))
    assert total.bits_per_character == pytest.approx(-one.log_probability / math.log(2) / one.characters)


def test_a_score_does_not_depend_on_the_other_texts(model: NetworkModel) -> None:
    together = [score.log_probability for score in model.score_texts([*TEST[:7], "", "sleeps"])]
    alone = [next(iter(model.score_texts([text]))).log_probability for text in [*TEST[:7], "", "sleeps"]]
    assert together == pytest.approx(alone, abs=1e-3)


def test_texts_are_drawn_and_searched(model: NetworkModel) -> None:
    drawn = [*model.generate(count=30, seed=3, longest=30)]
    assert len(drawn) == 30 and drawn == [*model.generate(count=30, seed=3, longest=30)]
    assert drawn != [*model.generate(count=30, seed=4, longest=30)] and len(set(drawn)) > 20
    started = [*model.generate(start="the cat", count=3, longest=30), *model.generate(start="do", temperature=3)]
    assert all(text.startswith(("the cat ", "do ")) for text in started)  # and not "does"
    best = [*model.generate(best=True, count=3, longest=30)]
    assert len(best) == len(set(best)) == 3 and best == [*model.generate(best=True, count=3, longest=30)]
    most = model.score([best[0]]).log_probability
    assert most > max(model.score([text]).log_probability for text in drawn)
    coldest = [*model.generate(temperature=1e-6, count=2, longest=30)]
    assert coldest[0] == coldest[1]
    assert all("cat" in text for text in model.generate(include=("cat",), best=True, count=1, longest=30))
    with pytest.raises(OptionError, match=r"start cannot be combined with an outline; write 'the…' before"):
        [*model.generate(start="the", outline="… cat")]
    with pytest.raises(OptionError, match="longest must be at most 512, the positions of this model; got 600"):
        [*model.generate(longest=600)]


def test_attention_reads_what_comes_before(model: NetworkModel, tmp_path: Path) -> None:
    attention = model.attend("the old man sleeps .")
    assert attention.read == ("<s>", *attention.tokens[:-1])
    for layer in range(len(attention.layers)):
        weights = attention.weights(layer)
        assert weights.shape == (len(attention.tokens),) * 2
        assert np.allclose(weights.sum(1), 1, atol=1e-5) and not np.triu(weights, 1).any()
    assert np.allclose(attention.weights(), np.mean([attention.weights(-1, head) for head in (0, 1)], 0))
    attention.save(tmp_path / "read.svg", layer=0, head=1)
    assert (tmp_path / "read.svg").read_text().startswith("<?xml")
    for arguments, message in (((9,), "layer 9 does not exist: the model has 2"), ((0, 2), "head 2 does not exist")):
        with pytest.raises(UserError, match=message):
            attention.weights(*arguments)
    with pytest.raises(UserError, match="the text is empty"):
        model.attend("")


def test_a_memory_network_reads_its_states_before(text: Path, tmp_path: Path) -> None:
    network = train(text, tmp_path / "model", "cheng2016", budget="3")
    weights = network.attend("the old man sleeps .").weights()
    assert np.allclose(weights.sum(1)[1:], 1, atol=1e-5) and not weights[0].any() and not np.triu(weights).any()
    elman = train(text, tmp_path / "elman", "elman1990", budget="1")
    with pytest.raises(UserError, match="elman1990 has no attention; radford2018 and cheng2016 have"):
        elman.attend("the cat")


def test_blocks_continue_across_lines(text: Path, tmp_path: Path) -> None:
    network = train(text, tmp_path / "model", "radford2018", "train.lr=0.005", unit="char", block=48, budget="60")
    assert network.block == 48
    lines = [*network.score_texts(TEST[:20])]
    assert [line.tokens for line in lines] == [len(text) + 1 for text in TEST[:20]]  # with the end of the line
    assert network.score(TEST[:20]).bits_per_character < 4.5
    (text_of_lines,) = network.generate(count=1, longest=200, seed=2)
    assert "\n" in text_of_lines and LINE_END not in text_of_lines
    assert network.attend("a cat").tokens == tuple("a▁cat")


def test_an_interrupted_run_continues_to_the_bit(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"block": 32, "budget": "40"}
    settings = ("train.check_every=20",)
    whole = train(text, tmp_path / "whole", "elman1990", *settings, **options)
    validate = TranslationLearner.validate

    def interrupt(self: Any, *arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return validate(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(TranslationLearner, "validate", interrupt)
        with pytest.raises(UserError, match=r"interrupted by SIGTERM at step \d+; call train\(…, resume=True\)"):
            train(text, tmp_path / "cut", "elman1990", *settings, **options)
    resumed = train(text, tmp_path / "cut", "elman1990", *settings, **options, resume=True)
    weights = (network.translator.model.state_dict() for network in (whole, resumed))
    assert all(torch.equal(one, other) for one, other in zip(*(each.values() for each in weights), strict=True))


def test_mistakes_name_what_to_type(text: Path, folder: Path, tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"model": "vaswani2017"}, r"vaswani2017 translates: saccade train PAIRS --model vaswani2017; the language mo"),
        ({"model": "radford2019"}, "radford2018"),  # did you mean
        ({"model": "elman1990", "order": 3}, "order is for n-grams, not for elman1990; leave it out"),
        ({"block": 8}, "block is for networks, not for chen1998; leave it out"),
        ({"unit": "subword"}, "unit must be word or char for n-grams; networks also learn subwords"),
        ({"model": "elman1990", "settings": ("train.judge=bleu",)}, "judge: bleu compares with a reference; set it"),
    ]
    for options, message in cases:
        with pytest.raises((UserError, ValueError), match=message):
            lm.train(text, out=tmp_path / "new", **options)
    (tmp_path / "short.txt").write_text("one line\n")
    with pytest.raises(UserError, match=r"short.txt: about 2 tokens; a network needs at least 100, .*: give a longer"):
        lm.train(tmp_path / "short.txt", out=tmp_path / "new", model="elman1990")
    with pytest.raises(UserError, match="a language model, which reads no source; `saccade lm` scores"):
        saccade.load(folder)
    with pytest.raises(UserError, match="elman1990 is a language model, which reads no source: saccade lm train TEXT"):
        saccade.fit([("a b", "c d")] * 20, model="elman1990", out=tmp_path / "fit", budget="1")
    lm.train(text, out=tmp_path / "ngrams", order=2)
    with pytest.raises(UserError, match="n-grams, not a network; train one with --model radford2018, say"):
        lm.load_network(tmp_path / "ngrams")
    assert not (tmp_path / "new").exists() or not any((tmp_path / "new").iterdir())
