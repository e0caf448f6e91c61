"""Validation loss and BLEU, and that looking changes nothing."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from saccade.data import TextPair
from saccade.data.batching import Batch
from saccade.decode import Translator
from saccade.decode.options import Search
from saccade.evaluation import score
from saccade.models import Seq2Seq
from saccade.train.dataset import Dataset, load_dataset
from saccade.train.distributed import Workers
from saccade.train.learner import Validation
from saccade.train.losses import Objective, batch_loss
from saccade.train.recipe import Data, Training
from saccade.train.translation import TranslationLearner

Untrained = Callable[..., Seq2Seq[Any, Any]]


def validate(translator: Translator, dataset: Dataset, training: Training) -> Validation:
    learner = object.__new__(TranslationLearner)
    learner.dataset, learner.training = dataset, training
    return learner.validate(translator.model, Workers())


@pytest.fixture
def dataset(learnt: Translator, pairs: list[TextPair], tmp_path: Path) -> Dataset:
    """Of the vocabulary of `learnt`; validation pairs it knows, and one it does not."""
    path = tmp_path / "pairs.tsv"
    held_out = [*pairs, TextPair("the dog sees it", "le chien le voit")]
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in held_out), encoding="utf-8")
    (tmp_path / "vocabulary").mkdir()
    learnt.vocabularies.save(tmp_path / "vocabulary")
    return load_dataset(Data(pairs=str(path), valid=str(path)), tmp_path, 1)


def test_the_loss_is_a_token_s_mean_however_batched(learnt: Translator, dataset: Dataset) -> None:
    source, target = learnt.vocabularies.source, learnt.vocabularies.target
    total, tokens = 0.0, 0
    with torch.inference_mode():
        for pair in dataset.valid:
            batch = Batch.of([source.encode(pair.source)], [target.encode(pair.target)], [0])
            learnt.model.eval()
            total += float(batch_loss(learnt.model, batch, Objective())[1])
            tokens += batch.target_out.numel()
    for size in (30, 4096):
        found = validate(learnt, dataset, Training(tokens=size, judge="loss"))
        expected = {"loss": total / tokens, "perplexity": math.exp(total / tokens)}
        assert found.scores == pytest.approx(expected, rel=1e-5)


def test_bleu_is_of_greedy_translations_of_the_first_sentences(learnt: Translator, dataset: Dataset) -> None:
    everything = validate(learnt, dataset, Training())
    texts = [one.text for one in learnt.translate([pair.source for pair in dataset.valid], Search())]
    expected = score(texts, [pair.target for pair in dataset.valid])
    measured = {"bleu": expected["bleu"], "chrf": expected["chrf"], "exact": expected["exact"]}
    assert {**everything.scores, **measured} == everything.scores
    assert everything.sample == f"{dataset.valid[0].source} → {texts[0]}"
    known = validate(learnt, dataset, Training(judge_on=8))
    assert known.scores["bleu"] == pytest.approx(100) and everything.scores["bleu"] < 100
    assert known.scores["loss"] == everything.scores["loss"]


def test_nothing_is_dropped_while_a_model_in_training_is_judged(untrained: Untrained, dataset: Dataset) -> None:
    model = untrained("bahdanau2014", dropout=0.5)
    translator = Translator(model, dataset.vocabularies, "cpu")
    still = validate(translator, dataset, Training(judge="loss"))
    model.train()
    assert validate(translator, dataset, Training(judge="loss")) == still


def test_a_model_in_training_is_left_as_it_was(learnt: Translator, dataset: Dataset) -> None:
    before = torch.get_rng_state()
    for training in (True, False):
        learnt.model.train(training)
        validate(learnt, dataset, Training())
        assert learnt.model.training is training
    assert torch.equal(torch.get_rng_state(), before)
