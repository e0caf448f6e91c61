"""A shortlist is learnt from pairs, saved with the model, and used where it is asked for."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import saccade
from saccade import Constraints, Search, model_folder
from saccade.data import TextPair
from saccade.decode import Translator, combine, load, save
from saccade.decode.options import DEFAULT_SEARCH
from saccade.decode.shortlist import building
from saccade.decode.shortlist.tables import NAME, Shortlist, with_special_tokens
from saccade.errors import UserError
from saccade.text import Placeholders, Policy, Vocabularies
from saccade.text.tokeniser import SYMBOLS
from saccade.trained_model import Model

NARROW = DEFAULT_SEARCH.with_options(shortlist=True)


@pytest.fixture
def folder(learnt: Translator, tmp_path: Path) -> Path:
    save(tmp_path / "model", learnt.model, learnt.vocabularies, extra={"longest_trained": 6})
    return tmp_path / "model"


@pytest.fixture
def sources(pairs: list[TextPair], tmp_path: Path) -> Path:
    file = tmp_path / "sources.txt"
    file.write_text("".join(f"{pair.source}\n" for pair in pairs), encoding="utf-8")
    return file


def texts(translator: Translator, pairs: list[TextPair], search: Search = NARROW, **options: Any) -> list[str]:
    return [each.text for each in translator.translate([pair.source for pair in pairs], search, **options)]


def whole(learnt: Translator) -> Translator:
    """With a shortlist of all tokens."""
    size = len(learnt.vocabularies.target)
    starts = np.zeros(len(learnt.vocabularies.source) + 1, np.int32)
    everything = Shortlist(starts, np.empty(0, np.int32), with_special_tokens(np.arange(size)), size)
    return Translator(learnt.model, learnt.vocabularies, "cpu", shortlist=everything)


def test_a_shortlist_is_saved_and_used(folder: Path, sources: Path, pairs: list[TextPair]) -> None:
    model = saccade.load(folder, device="cpu")
    made = model.make_shortlist(pairs, best=20, frequent=3, compare=sources)
    assert made.file == folder / NAME and made.record.pairs == len(pairs)
    assert made.record.identical == 1.0 and made.record.sentences == 8
    assert made.record.scored is not None and 0 < made.record.scored < 0.3
    assert "100.0% of 8 translations are identical" in str(made) and "of 330 tokens" in str(made)
    assert made.to_dict()["identical"] == 1.0
    stored = model_folder.load_config(folder).extra
    assert stored["shortlist"]["sha256"] == made.record.sha256 and stored["longest_trained"] == 6
    expected = [pair.target for pair in pairs]
    assert [each.text for each in model.translate([pair.source for pair in pairs], shortlist=True)] == expected
    assert texts(load(folder, device="cpu"), pairs) == expected


def test_the_same_pairs_give_the_same_file_and_others_replace_it(folder: Path, pairs: list[TextPair]) -> None:
    model = saccade.load(folder, device="cpu")
    first = model.make_shortlist(pairs)
    assert model.make_shortlist([*pairs]).record == first.record
    assert first.record.identical is None and "--compare" in str(first)
    assert model.make_shortlist(pairs[:3], frequent=0).record.sha256 != first.record.sha256
    assert saccade.load(folder, device="cpu").translate(["it sleeps"], shortlist=True)[0].ended


def test_further_training_forgets_it(folder: Path, learnt: Translator, pairs: list[TextPair]) -> None:
    saccade.load(folder, device="cpu").make_shortlist(pairs)
    save(folder, learnt.model, learnt.vocabularies)
    with pytest.raises(UserError, match="saccade shortlist MODEL PAIRS"):
        load(folder, device="cpu").translate(["it sleeps"], NARROW)


def test_source_tokens_can_be_copied_and_bytes_spelled() -> None:
    pairs = [TextPair("Anna sees ü", "Anna voit Ä"), TextPair("Otto sleeps", "Otto dort")]
    made = Vocabularies.train(pairs, Policy(kind="bpe", size=300), joint=False)
    size = len(made.source)
    starts, best = building.add_copies(np.zeros(size + 1, np.int64), np.empty(0, np.int64), made)
    for token, piece in enumerate(made.source.pieces):
        copied = [made.target.pieces[same] for same in best[starts[token] : starts[token + 1]]]
        assert copied == ([piece] if token > 3 and piece in made.target.pieces[4:] else [])
    encoded = [made.encode(TextPair("Anna", "Ω Ω")), made.encode(pairs[1])]
    used = {token for token in encoded[0][1] if made.target.is_unknown(token)}
    assert used and used <= {*building._find_frequent(encoded, 0, made.target).tolist()}


def test_a_text_does_not_depend_on_its_batch(learnt: Translator, pairs: list[TextPair], folder: Path) -> None:
    model = saccade.load(folder, device="cpu")
    model.make_shortlist(pairs[:5], best=2, frequent=0)
    together = model.translator.translate([pair.source for pair in pairs], NARROW)
    for pair, result in zip(pairs, together, strict=True):
        (alone,) = model.translator.translate([pair.source], NARROW)
        assert alone.text == result.text and alone.score == pytest.approx(result.score, abs=1e-4)


@pytest.mark.parametrize(
    ("search", "options"),
    [
        (DEFAULT_SEARCH, {}),
        (Search(sample=True, beam=3, seed=4), {}),
        (DEFAULT_SEARCH, {"record": True}),
        (DEFAULT_SEARCH, {"constraints": Constraints(prefix="un grand")}),
        (DEFAULT_SEARCH, {"constraints": [Constraints(include=("noir",)), *[None] * 7]}),
    ],
    ids=["beam", "samples", "tree", "prefix", "one constraint"],
)
def test_with_all_tokens_every_search_finds_the_same(
    learnt: Translator, pairs: list[TextPair], search: Search, options: dict[str, Any]
) -> None:
    narrow = replace(search, shortlist=True)
    found = whole(learnt).translate([pair.source for pair in pairs], narrow, **options)
    expected = learnt.translate([pair.source for pair in pairs], search, **options)
    assert [each.text for each in found] == [each.text for each in expected]
    if "record" in options:
        trees = [[node.piece for node in each.tree.nodes] for each in expected if each.tree is not None]
        assert [[node.piece for node in each.tree.nodes] for each in found if each.tree is not None] == trees


def test_a_constraint_may_need_any_token(folder: Path, pairs: list[TextPair]) -> None:
    model = saccade.load(folder, device="cpu")
    model.make_shortlist(pairs, best=1, frequent=0)
    (found,) = model.translate(["the cat sleeps"], shortlist=True, prefix="extraordinairement")
    assert found.text.startswith("extraordinairement") and not found.unmet


def test_placeholders_are_copied() -> None:
    pairs = [TextPair(f"room {number}", f"salle {number}") for number in (3, 17, 212)]
    vocabularies = Vocabularies.train(pairs, Policy(kind="bpe", size=320), placeholders=Placeholders(("number",)))
    symbols = [token for token, piece in enumerate(vocabularies.source.pieces) if piece[-1] in SYMBOLS]
    empty = np.zeros(len(vocabularies.source) + 1, np.int64), np.empty(0, np.int64)
    starts, best = building.add_copies(*empty, vocabularies)
    assert symbols and all(best[starts[token] : starts[token + 1]].tolist() == [token] for token in symbols)


def test_many_links_are_thinned(folder: Path, pairs: list[TextPair], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "MOST_LINKS", 400)
    assert 0 < saccade.load(folder, device="cpu").make_shortlist(pairs * 4).record.pairs < 32
    assert saccade.load(folder, device="cpu").make_shortlist(pairs * 4, most=2).record.pairs <= 2


def test_tasks_have_training_pairs_and_sentences_to_compare(folder: Path) -> None:
    (folder / "recipe.toml").write_text('[data]\npairs = "task:reverse"\n', encoding="utf-8")
    made = saccade.load(folder, device="cpu").make_shortlist("task:reverse", most=20)
    assert made.record.pairs == 20 and made.record.sentences == 200


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_command_leaves_nothing(
    folder: Path, pairs: list[TextPair], monkeypatch: pytest.MonkeyPatch, error: Any
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def interrupted(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr("saccade.files.sync_tree", interrupted)
    with pytest.raises((KeyboardInterrupt, UserError, OSError)):
        saccade.load(folder, device="cpu").make_shortlist(pairs)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_damaged_record_or_file_is_refused_when_the_model_is_loaded(folder: Path, pairs: list[TextPair]) -> None:
    saccade.load(folder, device="cpu").make_shortlist(pairs)
    (folder / NAME).write_bytes(b"")
    with pytest.raises(UserError, match=r"shortlist\.safetensors: damaged"):
        load(folder, device="cpu")
    model_folder.add_extra(folder, shortlist={"sha256": 3})
    with pytest.raises(UserError, match=r"config\.json.*extra\.shortlist"):
        load(folder, device="cpu")


def test_what_cannot_have_a_shortlist_is_told(
    learnt: Translator, folder: Path, pairs: list[TextPair], untrained: Any, tmp_path: Path
) -> None:
    with pytest.raises(
        UserError, match=r"--shortlist: the model has none; make it with `saccade shortlist MODEL PAIRS`"
    ):
        learnt.translate(["it sleeps"], NARROW)
    both = Model(combine({"a": learnt, "b": learnt}), [folder, folder])
    with pytest.raises(UserError, match="--shortlist: the logits of Ensemble"):
        both.translate(["it sleeps"], shortlist=True)
    for model in (both, Model(Translator(untrained("aligned-rnn"), learnt.vocabularies, "cpu"), [folder])):
        with pytest.raises(UserError, match="cannot have a shortlist: the logits of"):
            model.make_shortlist(pairs)
    with pytest.raises(UserError, match="save the model"):
        Model(learnt).make_shortlist(pairs)
    with pytest.raises(UserError, match="blank side"):
        saccade.load(folder, device="cpu").make_shortlist([("a", " ")])
    assert json.loads((folder / "config.json").read_text(encoding="utf-8"))["extra"] == {"longest_trained": 6}


def test_paths_say_whether_a_shortlist_is_used(learnt: Translator) -> None:
    model = Model(whole(learnt))
    reasons = {
        name: {path.name: path.reason for path in model.fast_paths(**options)}["scores for a shortlist of tokens"]
        for name, options in {
            "not asked for": {},
            "used": {"shortlist": True},
            "sampled": {"shortlist": True, "sample": True},
            "constrained": {"shortlist": True, "include": ["chat"]},
        }.items()
    }
    assert reasons["used"] is None and "--shortlist" in str(reasons["not asked for"])
    assert "samples" in str(reasons["sampled"]) and "any token" in str(reasons["constrained"])
    engine = model.fast_paths(shortlist=True)[-1]
    assert engine.name == "CTranslate2" and "no shortlist for each sentence" in str(engine.reason)
