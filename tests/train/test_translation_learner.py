"""The translation learner: its validation, the alignment head and the calibration of the saved model."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from saccade.align import AlignmentHead
from saccade.data import TextPair
from saccade.data.batching import Batch
from saccade.decode import Translator, load
from saccade.decode.options import Search
from saccade.evaluation import score
from saccade.models import Seq2Seq
from saccade.train.data_options import Data
from saccade.train.dataset import Dataset, load_dataset
from saccade.train.distributed import Workers
from saccade.train.learner import Validation
from saccade.train.losses import Objective, batch_loss
from saccade.train.recipe import Recipe
from saccade.train.training_options import Training
from saccade.train.translation import TranslationLearner, train

MakeRecipe = Callable[..., Recipe]
Untrained = Callable[..., Seq2Seq[Any, Any]]


def validate(translator: Translator, dataset: Dataset, training: Training) -> Validation:
    learner = object.__new__(TranslationLearner)
    learner.dataset, learner.training = dataset, training
    return learner.validate(translator.model, Workers())


@pytest.fixture
def dataset(learnt: Translator, pairs: list[TextPair], tmp_path: Path) -> Dataset:
    """With the vocabulary of `learnt`; the validation pairs are those that it has learnt, and one more."""
    path = tmp_path / "pairs.tsv"
    held_out = [*pairs, TextPair("the dog sees it", "le chien le voit")]
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in held_out), encoding="utf-8")
    (tmp_path / "vocabulary").mkdir()
    learnt.vocabularies.save(tmp_path / "vocabulary")
    return load_dataset(Data(pairs=str(path), valid=str(path)), tmp_path, 1)


def test_validation_loss_is_the_mean_per_token_whatever_the_batches(learnt: Translator, dataset: Dataset) -> None:
    source, target = learnt.vocabularies.source, learnt.vocabularies.target
    total, tokens = 0.0, 0
    with torch.inference_mode():
        for pair in dataset.valid:
            batch = Batch.of([source.encode(pair.source)], [target.encode(pair.target)], [0])
            learnt.model.eval()
            total += float(batch_loss(learnt.model, batch, Objective())[1])
            tokens += batch.target_out.numel()
    for size in (30, 4096):
        result = validate(learnt, dataset, Training(tokens=size, judge="loss"))
        expected = {"loss": total / tokens, "perplexity": math.exp(total / tokens)}
        assert result.scores == pytest.approx(expected, rel=1e-5)


def test_every_validation_reads_the_same_batches(learnt: Translator, dataset: Dataset) -> None:
    learner = object.__new__(TranslationLearner)
    learner.dataset, learner.training = dataset, Training(tokens=30, judge="loss")
    first, second = (learner.validate(learnt.model, Workers()).scores["loss"] for _ in range(2))
    assert first == second


def test_bleu_is_measured_on_greedy_translations_of_the_first_sentences(learnt: Translator, dataset: Dataset) -> None:
    on_all = validate(learnt, dataset, Training())
    texts = [translation.text for translation in learnt.translate([pair.source for pair in dataset.valid], Search())]
    expected = score(texts, [pair.target for pair in dataset.valid])
    measured = {"bleu": expected["bleu"], "chrf": expected["chrf"], "exact": expected["exact"]}
    assert {**on_all.scores, **measured} == on_all.scores
    assert on_all.sample == f"{dataset.valid[0].source} → {texts[0]}"
    known = validate(learnt, dataset, Training(judge_on=8))
    assert known.scores["bleu"] == pytest.approx(100) and on_all.scores["bleu"] < 100
    assert known.scores["loss"] == on_all.scores["loss"]


def test_a_model_in_lower_case_is_judged_in_lower_case(
    learnt: Translator, dataset: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = validate(learnt, dataset, Training()).scores
    shouted = [TextPair(pair.source, pair.target.upper()) for pair in dataset.valid]
    monkeypatch.setattr(dataset.vocabularies.target, "policy", replace(learnt.vocabularies.target.policy, lower=True))
    scores = validate(learnt, replace(dataset, valid=shouted), Training()).scores
    assert expected["bleu"] > 0 and scores["bleu"] == expected["bleu"]


def test_validation_uses_no_dropout(untrained: Untrained, dataset: Dataset) -> None:
    model = untrained("bahdanau2014", dropout=0.5)
    translator = Translator(model, dataset.vocabularies, "cpu")
    expected = validate(translator, dataset, Training(judge="loss"))
    model.train()
    assert validate(translator, dataset, Training(judge="loss")) == expected


def test_validation_leaves_the_model_and_the_random_state_as_they_were(learnt: Translator, dataset: Dataset) -> None:
    before = torch.get_rng_state()
    for training in (True, False):
        learnt.model.train(training)
        validate(learnt, dataset, Training())
        assert learnt.model.training is training
    assert torch.equal(torch.get_rng_state(), before)


def test_alignment_head_is_chosen_at_the_end(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    """On validation pairs, and saved with the model; a guided model aligns by the guided head."""
    layers = {"model.decoder_layers": 2, "data.valid_share": 0.3, "train.max_steps": 2}
    train(make_recipe("vaswani2017", **layers), tmp_path / "chosen")
    head = load(tmp_path / "chosen", device="cpu").alignment_head
    assert head.layer is not None and head.shift in (0, 1)
    attention = load(tmp_path / "chosen", device="cpu").attend(["the cat sleeps"], ["le chat dort"])
    assert attention[0].default_head == head
    guided = {"data.pairs": "task:phrasebook-en-fr", "data.count": 60, "data.alignments": "task", "train.guided": 0.5}
    train(make_recipe("vaswani2017", **layers, **guided, **{"train.guided_layer": 0}), tmp_path / "guided")
    assert load(tmp_path / "guided", device="cpu").alignment_head == AlignmentHead(layer=0, shift=1)
    few = {"data.valid_most": 5, "train.max_steps": 2}
    train(make_recipe("bahdanau2014", **few), tmp_path / "few")
    assert load(tmp_path / "few", device="cpu").alignment_head == AlignmentHead(shift=0)


def test_saved_model_is_calibrated(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    settings = {"data.valid_most": 30, "data.valid_share": 0.25, "train.judge_on": 24, "train.max_steps": 3}
    train(make_recipe(**settings), tmp_path / "run")
    model = load(tmp_path / "run", device="cpu")
    assert model.calibration is not None and model.calibration.sentences == 24
    (translation,) = model.translate(["the cat sleeps."], Search(longest=5))
    assert translation.confidence is not None and translation.confidence < 0.5  # it has learnt next to nothing
    train(make_recipe(**{"train.max_steps": 3}), tmp_path / "few")  # judged on three pairs
    assert load(tmp_path / "few", device="cpu").calibration is None


@pytest.mark.parametrize("most", [1, 64])
def test_few_shapes_mix_lengths_in_a_batch(make_recipe: MakeRecipe, tmp_path: Path, most: int) -> None:
    recipe = make_recipe("cho2014", **{"data.batch_shapes": most, "train.tokens": 200})
    learner = TranslationLearner(recipe, tmp_path, recipe.train)
    shapes = {(batch.source.shape[1], batch.target_in.shape[1]) for batch in learner.batches}
    assert (len(shapes) == 1) == (most == 1)
