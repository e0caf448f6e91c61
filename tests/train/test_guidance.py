"""Guided attention: the wanted weights and the loss as computed by hand, and better alignments after training."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import saccade
from saccade.align import GoldLinks, score_alignments
from saccade.data import Corpus, ListedPairs, Selection, TextPair
from saccade.data.batching import Batch
from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.tasks import task
from saccade.text import Vocabularies
from saccade.train.guidance import AlignmentGuide, as_array
from saccade.train.losses import Objective, batch_loss
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.translation import start, train

MakeRecipe = Callable[..., Recipe]
Untrained = Callable[..., Seq2Seq[Any, Any]]


def guided(vocabularies: Vocabularies, *pairs: tuple[str, str, list[tuple[int, int]]]) -> tuple[AlignmentGuide, Batch]:
    texts = ListedPairs([TextPair(source, target) for source, target, _ in pairs])
    corpus = Corpus.encode(Selection.of(texts), vocabularies)
    places = range(len(pairs))
    batch = Batch.of([corpus.source(i) for i in places], [corpus.target(i) for i in places], places)
    links = {line: as_array(links) for line, (_, _, links) in enumerate(pairs, 1)}
    return AlignmentGuide(links, corpus, vocabularies), batch


def test_linked_words_are_spread_over_their_tokens(vocabularies: Vocabularies) -> None:
    source, target = "the black cat sleeps", "le chat noir dort"
    guide, batch = guided(
        vocabularies,
        (source, target, [(0, 0), (1, 2), (2, 1), (2, 3), (3, 3)]),  # dort: cat and sleeps
        ("it sleeps", "il dort", [(1, 1)]),  # il: nothing
    )
    wanted = guide.wanted(batch)
    assert wanted.shape == (*batch.target_in.shape, batch.source.shape[1])
    from_words = vocabularies.source.decode_with_spans(vocabularies.source.encode(source))[1]
    to_words = vocabularies.target.decode_with_spans(vocabularies.target.encode(target))[1]
    inner = [*from_words, *[None] * (batch.source.shape[1] - len(from_words))]
    shares = {0: {0: 1.0}, 1: {2: 1.0}, 2: {1: 1.0}, 3: {2: 0.5, 3: 0.5}}  # of source words, for each target word
    for t, (word, end) in enumerate(to_words):
        by_word = {read: float(wanted[0, t, [span == (read, read + 1) for span in inner]].sum()) for read in range(4)}
        linked = shares[word] if end > word else {}  # not of a lone space
        assert by_word == pytest.approx({read: linked.get(read, 0.0) for read in range(4)})
    assert not wanted[0, len(to_words) :].any() and not wanted[0, :, len(from_words) :].any()  # ends and padding
    assert wanted[1].sum(1).count_nonzero() < len(vocabularies.target.encode("il dort"))


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_links_stay_with_their_pair_when_other_pairs_are_left_out(
    kind: str, make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    """The second of four pairs is blank and the third too long; the pairs of a CSV begin below its header."""
    texts = [("a dog", "un chien"), ("", ""), ("a dog " * 150, "un chien"), ("the cat", "le chat")]
    rows = {
        "tsv": [f"{source}\t{target}" for source, target in texts],
        "csv": ["source,target", *(f'{source},"{target}"' for source, target in texts)],
        "jsonl": [json.dumps({"source": source, "target": target}) for source, target in texts],
    }
    (tmp_path / f"pairs.{kind}").write_text("\n".join(rows[kind]) + "\n")
    (tmp_path / "links.align").write_text("0-1\n\n0-0\n1-0 1-1\n")
    pairs = {"data.pairs": str(tmp_path / f"pairs.{kind}"), "data.valid": str(tmp_path / f"pairs.{kind}")}
    links = {"data.alignments": str(tmp_path / "links.align"), "train.guided": 1.0}
    run = start(make_recipe(**pairs, **links, **{"data.vocabulary": {"kind": "word", "size": 300}}), tmp_path / "run")
    corpus = run.learner.dataset.corpus
    assert isinstance(corpus, Corpus) and run.learner.guide is not None and len(corpus) == 2
    batch = Batch.of([corpus.source(i) for i in range(2)], [corpus.target(i) for i in range(2)], range(2))
    first, second = run.learner.guide.wanted(batch).tolist()
    assert first == [[0, 0, 0], [1, 0, 0], [0, 0, 0]] and second == [[0, 1, 0], [0, 1, 0], [0, 0, 0]]


def test_a_trial_batch_may_be_shorter_than_its_pair(vocabularies: Vocabularies) -> None:
    guide, batch = guided(vocabularies, ("the black cat sleeps", "le chat noir dort", [(0, 0), (3, 3)]))
    shorter = Batch.of([[5]], [[6]], [0])  # as for trying the memory
    assert guide.wanted(shorter).shape == (1, 2, 2) and guide.wanted(batch).sum() >= 2


@pytest.mark.parametrize(
    ("name", "shift", "settings"), [("bahdanau2014", 0, {}), ("vaswani2017", 1, {"decoder_layers": 3})]
)
def test_the_guided_loss_as_computed_by_hand(
    name: str, shift: int, settings: dict[str, Any], untrained: Untrained, vocabularies: Vocabularies
) -> None:
    model = untrained(name, **settings)
    guide, batch = guided(vocabularies, ("a dog eats", "un chien mange", [(0, 0), (1, 1), (2, 2)]))
    with torch.no_grad(), model.trace() as trace:
        model(batch.source, batch.source_readable, batch.target_in)
    weights = torch.stack([trace[site].mean(1) for site in model.cross]).mean(0)[0]  # (T, S)
    expected = 0.0
    for t, row in enumerate(guide.wanted(batch)[0]):
        for s, share in enumerate(row.tolist()):
            if share:
                expected -= share * float(weights[t + shift, s].log())
    plain = batch_loss(model, batch, Objective(smoothing=0.1))[0]
    lowered, unguided = batch_loss(model, batch, Objective(smoothing=0.1, guided=0.7, guide=guide))
    assert float((lowered - plain).detach()) == pytest.approx(0.7 * expected, rel=1e-4)
    assert float(unguided) == pytest.approx(float(batch_loss(model, batch, Objective())[1]))
    lowered.backward()
    scores = [p.grad for n, p in model.named_parameters() if "attention" in n and p.grad is not None]
    assert scores and all(gradient.isfinite().all() for gradient in scores)


def test_one_layer_and_one_head_can_be_guided(untrained: Untrained, vocabularies: Vocabularies) -> None:
    model = untrained("vaswani2017")
    guide, batch = guided(vocabularies, ("a dog eats", "un chien mange", [(0, 0), (1, 1), (2, 2)]))
    guide.layer, guide.head = -1, 2
    with torch.no_grad(), model.trace() as trace:
        model(batch.source, batch.source_readable, batch.target_in)
    weights = trace[model.cross[-1]][:, 2, 1:]
    expected = -(guide.wanted(batch)[:, :-1] * weights.log()).sum()
    assert float(guide.loss(model, batch, trace)) == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize(
    ("settings", "lines", "expected"),
    [
        ({"train.guided": 0.5}, None, "train.guided needs data.alignments"),
        ({}, "0-0", "data.alignments is given, but train.guided is 0"),
        ({"train.guided": 0.5, "model": "cho2014"}, "0-0", "cho2014 has no attention that could be guided"),
        (
            {"train.guided": 0.5, "train.guided_layer": 1},
            "0-0",
            "train.guided_layer: 1 does not exist: the model has 1",
        ),
        ({"train.guided": 0.5, "train.guided_head": -2}, "0-0", "train.guided_head: -2 does not exist"),
        ({"train.guided": 0.5}, "0-0\n0-99", r"links.align:2: link 0-99 is out of range; the pair has \d+ source"),
        ({"train.guided": 0.5}, "0-0\n0:1", "links.align:2: '0:1' is not a link"),
        ({"train.guided": 0.5}, "0-0\n0-1", "links.align:3: more pairs than alignments; expected one line per pair"),
        ({"train.guided": 0.5}, "0-0\n" * 121, "links.align:121: more alignments than pairs"),
    ],
)
def test_mistakes_are_found_before_the_first_step(
    settings: dict[str, Any], lines: str | None, expected: str, make_recipe: MakeRecipe, tmp_path: Path
) -> None:
    place = tmp_path / "links.align"
    if lines is not None:
        place.write_text(lines)
        settings = {**settings, "data.alignments": str(place)}
    model = settings.pop("model", "bahdanau2014") if "model" in settings else "bahdanau2014"
    with pytest.raises(UserError, match=expected):
        train(make_recipe(model, **settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_task_supplies_the_links_of_its_pairs(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    pairs = list(task("phrasebook-en-fr").pairs(30, seed=1, words=(3, 6)))
    of_task = {"data.pairs": "task:phrasebook-en-fr", "data.count": 30, "data.words": [3, 6], "train.guided": 1.0}
    guide = start(make_recipe(**of_task, **{"data.alignments": "task"}), tmp_path / "a").learner.guide
    assert guide is not None
    assert [[tuple(link) for link in guide.links[line].tolist()] for line in range(1, 31)] == [
        [*pair.alignment] for pair in pairs if pair.alignment is not None
    ]
    with pytest.raises(UserError, match=r"data\.alignments = 'task', but data.pairs is"):
        start(make_recipe(**{"data.alignments": "task", "train.guided": 1.0}), tmp_path / "b")


def test_the_weight_of_the_guide_falls_with_each_epoch(make_recipe: MakeRecipe, tmp_path: Path) -> None:
    of_task = {"data.pairs": "task:phrasebook-en-fr", "data.count": 30, "data.words": [3, 6], "data.alignments": "task"}
    run = start(make_recipe(**of_task, **{"train.guided": 0.8, "train.guided_decay": 0.5}), tmp_path / "run")
    weights = []
    for run.learner.batches.epoch in (1, 2, 3):
        weights.append(run.learner.objective(run.state).guided)
    assert weights == pytest.approx([0.8, 0.4, 0.2])


def aer(folder: Path) -> float:
    pairs = list(task("phrasebook-en-fr").pairs(60, seed=1, split="valid", words=(3, 6)))
    attended = saccade.load(folder, device="cpu").translator.attend(
        [p.source for p in pairs], [p.target for p in pairs]
    )
    gold = [GoldLinks.all_sure(p.alignment or ()) for p in pairs]
    return score_alignments([attention.alignment() for attention in attended], gold).aer


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bahdanau2014", pytest.param("vaswani2017", marks=pytest.mark.long)])
def test_guided_attention_aligns_better(name: str, tmp_path: Path) -> None:
    error_rates = {}
    for guided in (0.0, 1.0):
        mapping = {
            "data": {
                "pairs": "task:phrasebook-en-fr",
                "count": 3000,
                "words": [3, 6],
                "vocabulary": {"kind": "unigram", "size": 600},
                "alignments": "task" if guided else None,
            },
            "model": {"name": name, "preset": "tiny", "dropout": 0.1},
            "train": {"guided": guided, "lr": 3e-3, "warmup": 30, "tokens": 800, "max_steps": 200}
            | {"check_every": 200, "judge": "loss", "device": "cpu", "threads": 1},
        }
        out = tmp_path / f"{guided}"
        train(recipe_of(mapping, "test"), out)
        error_rates[guided] = aer(out)
    assert error_rates[1.0] < 0.4 < error_rates[0.0] - 0.1, error_rates
