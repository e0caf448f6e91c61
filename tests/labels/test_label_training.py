"""Classifiers and taggers learn, beside controls that cannot, and their runs resume and load to the bit."""

import json
import os
import signal
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
import torch

import saccade
from saccade import labels
from saccade.errors import UserError
from saccade.labels import learner, recipe
from saccade.labels.label_model import LabelModel
from saccade.tasks import task

QUICK = {"train.device": "cpu", "train.threads": 1, "train.check_every": 10, "train.tokens": 256}
TRAINED = {"train.device": "cpu", "train.threads": 1}


def settings(**more: Any) -> dict[str, Any]:
    return QUICK | {key.replace("__", "."): value for key, value in more.items()}


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "reviews.tsv"
    pairs = task("sentiment").pairs(120, seed=1)
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CoNLL file"""
    path = tmp_path_factory.mktemp("texts") / "names.conll"
    sentences = []
    for pair in task("entities").pairs(120, seed=1):
        rows = zip(pair.source.split(), pair.target.split(), strict=True)
        sentences.append("".join(f"{word} {tag}\n" for word, tag in rows))
    path.write_text("\n".join(sentences), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def classifier(reviews: Path, tmp_path_factory: pytest.TempPathFactory) -> LabelModel:
    return labels.train(reviews, out=tmp_path_factory.mktemp("runs") / "c", budget="20", settings=settings())


@pytest.fixture(scope="module")
def tagger(tagged: Path, tmp_path_factory: pytest.TempPathFactory) -> LabelModel:
    return labels.train(tagged, "tag", out=tmp_path_factory.mktemp("runs") / "t", budget="40", settings=settings())


def test_a_text_gets_a_label_with_probabilities(classifier: LabelModel) -> None:
    texts = ["the soup was good.", "the film was bad, but the soup was very good."]
    both = classifier.predict(texts)
    for text, labelled in zip(texts, both):
        assert labelled.text == text and labelled.label == next(iter(labelled.probabilities))
        assert set(labelled.probabilities) == {"positive", "negative"}
        assert sum(labelled.probabilities.values()) == pytest.approx(1)
        (alone,) = classifier.predict([text])
        assert alone.probabilities == pytest.approx(labelled.probabilities, abs=1e-5)
    assert classifier.predict([]) == [] and len(classifier.predict([""])) == 1
    with pytest.raises(UserError, match=r"one text was given; expected a list of texts: predict\(\[text\]\)"):
        classifier.predict("the soup was good.")


def test_hops_are_shown_over_words_or_tokens(classifier: LabelModel) -> None:
    attention = classifier.attend("the soup wasn't good.")
    assert attention.words == ("the", "soup", "wasn't", "good", ".") and attention.weights.shape == (4, 5)
    assert attention.weights.sum(1).tolist() == pytest.approx([1] * 4)
    assert "".join(classifier.attend("the soup was good.", pieces=True).words) == "▁the▁soup▁was▁good."
    with pytest.raises(UserError, match="the text is empty"):
        classifier.attend(" ")


def test_every_word_gets_a_tag(tagger: LabelModel) -> None:
    (labelled,) = tagger.predict(["Vornal was fined for tax fraud ."])
    assert labelled.words == ("Vornal", "was", "fined", "for", "tax", "fraud", ".")
    assert len(labelled.tags) == len(labelled.probabilities) == 7 and set(labelled.tags) <= set(tagger.labels)
    assert tagger.has_entities and tagger.predict([""])[0].tags == ()
    scores = tagger.evaluate([("Vornal was fined", "B-ORG O O"), ("He left", "O O")])
    assert scores.entities and scores.labels == 5
    with pytest.raises(UserError, match="a tagger reads each word by itself, without hops"):
        tagger.attend("Vornal was fined")


@pytest.mark.parametrize("model", ["classifier", "tagger"])
def test_a_loaded_model_is_the_same_to_the_bit(model: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    trained: LabelModel = request.getfixturevalue(model)
    trained.save(tmp_path / "again", extra={}, card="# card\n")
    loaded = labels.load(tmp_path / "again")
    assert loaded.labels == trained.labels and loaded.kind == trained.kind and loaded.longest == trained.longest
    texts = ["the soup was good .", "Vornal was fined for tax fraud ."]
    assert loaded.predict(texts) == trained.predict(texts)
    for name, value in trained.network.state_dict().items():
        assert torch.equal(loaded.network.state_dict()[name], value)


@pytest.mark.parametrize("kind", ["classify", "tag"])
def test_an_interrupted_run_continues_to_the_bit(
    kind: Any, reviews: Path, tagged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = reviews if kind == "classify" else tagged
    options: dict[str, Any] = {"budget": "30", "settings": settings(model__dropout=0.2)}
    whole = labels.train(texts, kind, out=tmp_path / "whole", **options)
    validate = learner.LabelLearner.validate

    def interrupt(self: Any, *arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGINT)
        return validate(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(learner.LabelLearner, "validate", interrupt)
        with pytest.raises(UserError, match=r"interrupted by SIGINT at step 10; call train\(…, resume=True\)"):
            labels.train(texts, kind, out=tmp_path / "cut", **options)
    resumed = labels.train(texts, kind, out=tmp_path / "cut", resume=True, **options)
    for name, value in whole.network.state_dict().items():
        assert torch.equal(resumed.network.state_dict()[name], value), name

    other = options | {"settings": settings(model__dropout=0.3)}
    with pytest.raises(UserError, match=r"a resumed run keeps its recipe, .*: model.dropout was 0.2, is 0.3"):
        labels.train(texts, kind, out=tmp_path / "cut", resume=True, **other)
    saved = texts.read_text()
    texts.write_text(saved + ("one more text\tpositive\n" if kind == "classify" else "\nmore O\n"))
    with pytest.raises(UserError, match=r"not the texts that the run in .* began with"):
        labels.train(texts, kind, out=tmp_path / "cut", resume=True, **options)
    texts.write_text(saved)


def test_no_text_is_in_both_parts(reviews: Path) -> None:
    from saccade.labels.dataset import split_examples
    from saccade.labels.settings import LabelData

    train, valid = split_examples(LabelData(kind="classify", pairs=str(reviews)), seed=1)
    assert len(train.pairs) + len(valid.pairs) == 120 and len(valid.pairs) == 12
    assert {pair.source for pair in train.pairs}.isdisjoint(pair.source for pair in valid.pairs)
    again = split_examples(LabelData(kind="classify", pairs=str(reviews)), seed=1)
    assert again == (train, valid) != split_examples(LabelData(kind="classify", pairs=str(reviews)), seed=2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"the file is empty; expected a text, a tab and its label per line"),
        ("\n\n", r"no labelled text; expected a text, a tab and its label per line"),
        ("good\nbad\n", r"reviews.tsv:1: 0 tabs in the line; expected one"),
        ("good soup\tyes\nbad soup\tyes\n", r"every label is 'yes'; expected at least 2 that differ"),
        (
            "".join(f"text {n}\tlabel {n}\n" for n in range(60)),
            r"different labels of 5\d, such as 'label .*second column",
        ),
        (
            "good soup\tyes\n",
            r"1 text; expected at least 2 different texts, to hold one out for validation: give more texts",
        ),
    ],
)
def test_unusable_texts_say_what_they_need(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "reviews.tsv").write_text(content)
    with pytest.raises(UserError, match=message):
        labels.train(tmp_path / "reviews.tsv", out=tmp_path / "out", settings=settings())
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"settings": {"model.preset": "large"}},
            "model.preset: 'large' given, expected one of tiny, small, base, paper",
        ),
        ({"settings": {"model.hop": 3}}, "model.hop: unknown key; did you mean 'hops'"),
        ({"settings": {"model": "lin2017"}}, r"--set: model: \"lin2017\" given, expected a table of keys"),
        ({"settings": {"train.r_drop": 1.0}}, "train.r_drop is for translation; leave it out"),
        ({"settings": {"train.judge": "bleu"}}, "train.judge: bleu is for translation; expected accuracy, f1, loss"),
        ({"model": "bahdanau2041"}, r"'bahdanau2041' is not ENCODER, READER or ENCODER\+READER.*'bahdanau2014'"),
        ({"model": "recurrent+xu2015"}, "attention 'xu2015' does not fit: it learns by REINFORCE"),
        ({"model": "transformer+mean", "kind": "tag"}, "has a reader, mean, but a tagger labels every word"),
        ({"mix": "more.tsv"}, "mix is for translation; leave it out"),
        ({"valid": "missing.tsv"}, "missing.tsv: no such file"),
        ({"resume": True}, "there is no run to resume; leave --resume out to start one"),
    ],
)
def test_wrong_options_get_one_line(reviews: Path, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises((UserError, ValueError), match=message):
        labels.train(reviews, **({"kind": "classify", "out": tmp_path / "out"} | options))
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def test_json_with_fields_of_other_names_is_read(tmp_path: Path) -> None:
    rows = [{"review": pair.source, "stars": pair.target} for pair in task("sentiment").pairs(60, seed=1)]
    train, valid = tmp_path / "train.jsonl", tmp_path / "valid.jsonl"
    train.write_text("".join(json.dumps(row) + "\n" for row in rows[:50]))
    valid.write_text("".join(json.dumps(row) + "\n" for row in rows[50:]))
    named = settings(data__fields=["review", "stars"])
    labels.train(train, out=tmp_path / "run", valid=str(valid), budget="10", settings=named)
    assert "validation: 10 texts" in (tmp_path / "run" / "README.md").read_text()
    with pytest.raises(UserError, match=r"there is no 'source'; the texts there are review, stars"):
        labels.train(train, out=tmp_path / "other", settings=settings())


def test_labels_that_only_the_validation_has_are_wrong(reviews: Path, tmp_path: Path) -> None:
    valid = tmp_path / "valid.tsv"
    valid.write_text("the soup was good.\tpositive\nthe soup was so-so.\tneutral\n")
    model = labels.train(reviews, out=tmp_path / "run", valid=str(valid), budget="10", settings=settings())
    card = (tmp_path / "run" / "README.md").read_text()
    assert "warning: no training text has neutral, which the validation has: counted as wrong" in card
    assert model.evaluate(valid).accuracy <= 50


def test_long_texts_are_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "long.tsv"
    path.write_text("".join(f"{word} text {'and so on ' * n}\t{word}\n" for n in range(20) for word in ("good", "bad")))
    model = labels.train(path, out=tmp_path / "run", budget="10", settings=settings(data__longest=12))
    assert "of more than 12 tokens: the rest is not read" in (tmp_path / "run" / "README.md").read_text()
    whole, more = model.predict(["good text " + "and so on " * 20, "good text " + "and so on " * 30])
    assert whole.probabilities == pytest.approx(more.probabilities, abs=1e-6)


def test_without_libraries_a_tagger_is_judged_by_accuracy(
    tagged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(recipe, "why_no_f1", lambda: "F1 needs seqeval")
    labels.train(tagged, "tag", out=tmp_path / "run", budget="10", settings=settings())
    assert "judged by accuracy; F1 needs seqeval" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"train.judge = 'f1': F1 needs seqeval, or set it to accuracy"):
        labels.train(tagged, "tag", out=tmp_path / "f1", budget="10", settings=settings(train__judge="f1"))


def test_folders_of_other_models_are_told_apart(classifier: LabelModel, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    classifier.save(folder, extra={}, card="")
    with pytest.raises(UserError, match="a classifier, not a model that translates; `saccade labels` reads it"):
        saccade.load(folder)
    described = json.loads((folder / "config.json").read_text())

    def damage(**changes: Any) -> None:
        (folder / "config.json").write_text(json.dumps(described | changes))

    damage(model="vaswani2017")
    with pytest.raises(UserError, match="a vaswani2017 model, which gives no labels; `saccade train --kind classify`"):
        labels.load(folder)
    damage(extra={"labels": ["same", "same"], "longest": 9})
    with pytest.raises(UserError, match="expected at least 2 labels, all different"):
        labels.load(folder)
    damage(extra={"labels": ["a", "b", "c"], "longest": 9})
    with pytest.raises(UserError, match=r"the weights do not fit the model that config.json describes"):
        labels.load(folder)
    damage(config=described["config"] | {"width": 60_000})
    with pytest.raises(UserError, match="the weights do not fit the model"):
        labels.load(folder)
    damage(config=described["config"] | {"encoder": "evil:Encoder"})
    with pytest.raises(UserError, match=r"config.encoder is 'evil:Encoder', which would run code from outside Saccade"):
        labels.load(folder)


def test_fit_points_to_labels(reviews: Path) -> None:
    with pytest.raises(
        ValueError, match=r"kind is classify: saccade.labels.train\(…, kind='classify'\) returns its model"
    ):
        saccade.fit(reviews, kind="classify")


def test_a_recipe_begins_a_run(classifier: LabelModel, reviews: Path, tmp_path: Path) -> None:
    labels.train(reviews, out=tmp_path / "first", budget="10", settings=settings())
    labels.train(tmp_path / "first" / "recipe.toml", out=tmp_path / "second")
    first, second = (labels.load(tmp_path / name).network.state_dict() for name in ("first", "second"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    with pytest.raises(UserError, match=r"data.kind is classify; add --kind classify"):
        labels.train(tmp_path / "first" / "recipe.toml", "tag", out=tmp_path / "third")


@pytest.mark.slow
def test_a_classifier_knows_which_clause_counts(tmp_path: Path) -> None:
    """A bag of words does not, and neither does the most frequent label."""
    models = [
        labels.train("task:sentiment", model=name, out=tmp_path / name, settings=TRAINED, budget=budget)
        for name, budget in (("recurrent+lin2017", "900"), ("words+mean", "400"))
    ]
    accuracies = [model.evaluate("task:sentiment").accuracy for model in models]
    assert accuracies[0] > 85 and accuracies[1] < 65, accuracies


@pytest.mark.slow
def test_a_tagger_knows_names_by_their_context(tmp_path: Path) -> None:
    """The most frequent tag of each word is no help where all names are new."""
    model = labels.train("task:entities", "tag", out=tmp_path / "run", settings=TRAINED, budget="700")
    assert model.evaluate("task:entities").f1 > 95

    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for pair in task("entities").pairs(4000, seed=1):
        for word, tag in zip(pair.source.split(), pair.target.split(), strict=True):
            counts[word][tag] += 1
    test = list(task("entities").pairs(500, seed=1, split="test"))
    usual = [[counts[w].most_common(1)[0][0] if w in counts else "O" for w in pair.source.split()] for pair in test]
    from saccade.labels.scores import score_entities

    assert score_entities([pair.target.split() for pair in test], usual).f1 < 5


@pytest.mark.slow
def test_the_penalty_spreads_the_hops(tmp_path: Path) -> None:
    """Lin 2017: without it, hops read the same words."""
    texts = [pair.source for pair in task("sentiment").pairs(50, seed=1, split="test")]

    def overlap(penalty: float, seed: int) -> float:
        changed = TRAINED | {"model.penalty": penalty, "train.seed": seed, "train.check_every": 200}
        model = labels.train("task:sentiment", out=tmp_path / f"{penalty}-{seed}", settings=changed, budget="200")
        return sum(model.attend(text).overlap for text in texts) / len(texts)

    overlaps = {penalty: [overlap(penalty, seed) for seed in (1, 2, 3)] for penalty in (0.0, 1.0)}
    assert max(overlaps[1.0]) < min(overlaps[0.0]) and sum(overlaps[1.0]) < 0.5 * sum(overlaps[0.0]), overlaps
