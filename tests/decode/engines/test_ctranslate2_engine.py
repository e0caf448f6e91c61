"""CTranslate2 finds what our own search finds."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from saccade.data import TextPair
from saccade.decode import Constraints, Search, Translation, Translator
from saccade.decode.engines import engine as engines
from saccade.decode.engines.engine import CTranslate2Engine, has_loop
from saccade.decode.options import DEFAULT_SEARCH
from saccade.errors import UserError
from saccade.text import BOS, PAD, Vocabularies


@pytest.fixture(scope="module")
def engine(learnt: Translator) -> CTranslate2Engine:
    return CTranslate2Engine(learnt.model, learnt.vocabularies)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def texts(pairs: list[TextPair]) -> list[str]:
    """That the model has learnt: for others, several translations would be nearly as probable."""
    return [*(pair.source for pair in pairs), "", "it sleeps"]


def assert_alike(fast: list[Translation], plain: list[Translation]) -> None:
    for one, other in zip(fast, plain, strict=True):
        assert (one.text, one.tokens, one.ended) == (other.text, other.tokens, other.ended)
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-3)
        assert one.score == pytest.approx(other.score, abs=1e-3)


@pytest.mark.parametrize(
    "search",
    [
        Search(),
        DEFAULT_SEARCH,
        Search(beam=4, length_norm="mean", length_penalty=0.6),
        Search(beam=3, length_norm="none"),
        Search(beam=3, length_penalty=0.0),
        Search(beam=2, longest=3),
        Search(longest_ratio=0.1),
    ],
    ids=lambda search: (
        f"{search.beam} {search.length_norm} {search.length_penalty} {search.longest} {search.longest_ratio}"
    ),
)
def test_the_translations_are_the_same(
    learnt: Translator, engine: CTranslate2Engine, texts: list[str], search: Search
) -> None:
    plain = learnt.translate(texts, search)
    assert_alike(learnt.translate(texts, search, engine=engine), plain)
    assert_alike(learnt.translate(texts, search, engine=engine, batch_tokens=12), plain)  # one batch per text


def test_n_best_are_ranked_by_our_own_score(learnt: Translator, engine: CTranslate2Engine, texts: list[str]) -> None:
    search = Search(beam=4, n_best=3)
    for one in learnt.translate(texts, search, engine=engine):
        if not one.source:
            continue
        assert len(one.n_best) == 3
        scores = [each.score for each in one.n_best if each.ended]
        assert scores == sorted(scores, reverse=True)
        for each in one.n_best:
            assert each.score == pytest.approx(search.score(each.log_prob, len(each.token_log_probs)))


def test_log_probabilities_come_from_one_forced_pass(
    learnt: Translator, engine: CTranslate2Engine, texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    passes = []
    force = engine._force
    monkeypatch.setattr(engine, "_force", lambda pairs: passes.append(len(pairs)) or force(pairs))
    fast = learnt.translate(texts, Search(beam=2, n_best=2), engine=engine)
    assert not passes  # text alone does not need it
    for one in fast:
        for each in one.n_best:
            assert each.log_prob == pytest.approx(sum(each.token_log_probs), abs=1e-3)
    assert len(passes) == 1
    for one, other in zip(fast, learnt.translate(texts, Search(beam=2))):
        assert list(one.token_log_probs) == pytest.approx(list(other.token_log_probs), abs=1e-3)


def test_attention_and_json_are_as_without_the_engine(
    learnt: Translator, engine: CTranslate2Engine, texts: list[str]
) -> None:
    fast, plain = learnt.translate(texts, engine=engine, weights=True), learnt.translate(texts, weights=True)
    for one, other in zip(fast, plain):
        assert one.alignment == other.alignment
        values, expected = one.as_dict(), other.as_dict()
        assert values.keys() == expected.keys()
        assert values["token_log_probs"] == pytest.approx(expected["token_log_probs"], abs=1e-3)


def test_constrained_and_recorded_searches_are_ours(
    learnt: Translator, engine: CTranslate2Engine, texts: list[str]
) -> None:
    rules = [Constraints(include=("chat",)) if place % 2 else None for place in range(len(texts))]
    assert_alike(learnt.translate(texts, constraints=rules, engine=engine), learnt.translate(texts, constraints=rules))
    assert all(one.tree is not None for one in learnt.translate(texts[:2], record=True, engine=engine))


def test_a_long_text_is_split_and_its_parts_are_joined(learnt: Translator, engine: CTranslate2Engine) -> None:
    text = "The cat sleeps. A dog eats. It sleeps."
    limited = Translator(learnt.model, learnt.vocabularies, "cpu", longest_trained=4)
    (fast,), (plain,) = (limited.translate([text], Search(), too_long="split", engine=each) for each in (engine, None))
    assert len(fast.parts) == len(plain.parts) == 3
    assert_alike([fast], [plain])
    assert list(fast.token_log_probs) == pytest.approx(list(plain.token_log_probs), abs=1e-3)


def random_translator(untrained: object, vocabularies: Vocabularies, **settings: object) -> Translator:
    """Its choices are clear: large weights leave no two tokens nearly as probable."""
    model = untrained("vaswani2017", width=16, inner=16, heads=2, **settings)  # type: ignore[operator]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter, generator=None) * 0.5)
    return Translator(model, vocabularies, "cpu")


@pytest.fixture
def seeded() -> None:
    torch.manual_seed(5)


@pytest.mark.usefixtures("seeded")
def test_each_source_has_its_own_maximum_length(
    untrained: object, vocabularies: Vocabularies, texts: list[str]
) -> None:
    """A random model hardly ever ends, so that every search reaches its limit."""
    translator = random_translator(untrained, vocabularies)
    engine = CTranslate2Engine(translator.model, vocabularies)  # type: ignore[arg-type]
    search = Search(beam=1)
    fast = translator.translate(texts, search, engine=engine)
    assert_alike(fast, translator.translate(texts, search))
    cut = [one for one in fast if one.source and not one.ended]
    assert len({len(one.tokens) for one in cut}) > 2


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize("token", [PAD, BOS])
def test_tokens_that_our_search_never_writes_are_not_written(
    untrained: object, vocabularies: Vocabularies, texts: list[str], token: int
) -> None:
    translator = random_translator(untrained, vocabularies, tie="none")
    with torch.no_grad():
        translator.model.embeddings.output.bias[token] = 30.0
    engine = CTranslate2Engine(translator.model, vocabularies)  # type: ignore[arg-type]
    fast = translator.translate(texts, Search(beam=2), engine=engine)
    assert_alike(fast, translator.translate(texts, Search(beam=2)))


@pytest.mark.usefixtures("seeded")
def test_loops_are_forbidden(untrained: object, vocabularies: Vocabularies, texts: list[str]) -> None:
    translator = random_translator(untrained, vocabularies, tie="none")
    with torch.no_grad():
        translator.model.embeddings.output.bias[9] = 100.0
    engine = CTranslate2Engine(translator.model, vocabularies)  # type: ignore[arg-type]
    search = Search(repeats=2)
    fast = translator.translate(texts, search, engine=engine)
    assert_alike(fast, translator.translate(texts, search))
    assert any(one.tokens[:3].count(one.tokens[0]) == 2 for one in fast if one.tokens)


@pytest.mark.usefixtures("seeded")
def test_texts_beyond_the_learned_positions_are_ours(untrained: object, vocabularies: Vocabularies) -> None:
    translator = random_translator(untrained, vocabularies, positions="learned", longest=12)
    engine = CTranslate2Engine(translator.model, vocabularies)  # type: ignore[arg-type]
    texts, search = ["it sleeps", "a big dog eats an apple " * 4], Search(longest=8)
    ids = [vocabularies.source.encode(text) for text in texts]
    found = {i: results for places, rows in engine.search(ids, search, 100) for i, results in zip(places, rows)}
    assert set(found) == {0}
    assert_alike(translator.translate(texts, search, engine=engine), translator.translate(texts, search))


def test_int8_translates_what_was_learnt_by_heart(learnt: Translator, pairs: list[TextPair]) -> None:
    engine = CTranslate2Engine(learnt.model, learnt.vocabularies, int8=True)  # type: ignore[arg-type]
    written = [one.text for one in learnt.translate([pair.source for pair in pairs], engine=engine)]
    assert sum(text == pair.target for text, pair in zip(written, pairs)) >= len(pairs) - 1


def test_a_full_disk_is_explained(learnt: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(engines, "write_model", full)
    with pytest.raises(
        UserError, match="No space left on device; set TMPDIR to another folder, or give --engine torch"
    ):
        CTranslate2Engine(learnt.model, learnt.vocabularies)  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 2), max_size=14), st.integers(1, 3))
def test_a_loop_is_a_run_of_tokens_more_than_so_many_times(ids: list[int], most: int) -> None:
    runs = (ids[first : first + size] for size in range(1, 8) for first in range(len(ids) - size + 1))
    text = "".join(map(str, ids))
    assert has_loop(ids, most) == any("".join(map(str, run)) * (most + 1) in text for run in runs)
