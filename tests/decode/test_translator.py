"""Texts to translations: order, independence, blank lines, and attention."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saccade.data import TextPair
from saccade.data.batching import Batch
from saccade.decode import DEFAULT_SEARCH, Search, Translator
from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.text import EOS, Policy, Vocabularies, words

Untrained = Callable[..., Seq2Seq[Any, Any]]
SHORT = Search(beam=2, longest=5)


def test_translations_are_in_the_order_of_the_texts(learnt: Translator, pairs: list[TextPair]) -> None:
    for few in (pairs, pairs[::-1]):
        results = learnt.translate([pair.source for pair in few])
        assert [result.text for result in results] == [pair.target for pair in few]
        assert [result.source for result in results] == [pair.source for pair in few]
        assert all(result.ended for result in results)


@pytest.mark.parametrize("batch_tokens", [1, 60, 100_000])
def test_translations_are_independent(learnt: Translator, pairs: list[TextPair], batch_tokens: int) -> None:
    sources = [pair.source for pair in pairs] + ["the dog sleeps", "we see a cat"]
    alone = [learnt.translate([source])[0].text for source in sources]
    assert [each.text for each in learnt.translate(sources, batch_tokens=batch_tokens)] == alone


def test_blank_lines_stay_blank(learnt: Translator) -> None:
    results = learnt.translate(["", "it sleeps", "  \t", ""])
    assert [each.text for each in results] == ["", "il dort", "", ""]
    blank = results[0]
    assert (blank.tokens, blank.log_prob, blank.ended) == ((), 0.0, True)
    assert blank.weights is not None and blank.weights.shape == (0, 0)
    assert blank.alignment == frozenset()
    assert learnt.translate([]) == []
    assert [each.text for each in learnt.translate(["", " "], weights=True)] == ["", ""]


def test_a_stream_and_a_list_give_equal_translations(learnt: Translator, pairs: list[TextPair]) -> None:
    sources = ["", *(pair.source for pair in pairs)]
    for search in (DEFAULT_SEARCH, Search(sample=True, temperature=3.0, beam=2, n_best=2, longest=9)):
        whole = learnt.translate(sources, search)
        for chunk in (1, 4, 100):
            output = list(learnt.translate_stream(iter(sources), search, chunk=chunk))
            assert [each.text for each in output] == [each.text for each in whole]
            assert [[a.text for a in each.alternatives] for each in output] == [
                [a.text for a in each.alternatives] for each in whole
            ]


def test_a_stream_reads_no_more_than_a_chunk_ahead(learnt: Translator) -> None:
    taken = 0

    def lines() -> Any:
        nonlocal taken
        for _ in range(10):
            taken += 1
            yield "it sleeps"

    stream = learnt.translate_stream(lines(), SHORT, chunk=3)
    next(stream)
    assert taken == 3


def test_alternatives_are_different_and_sorted(learnt: Translator) -> None:
    (result,) = learnt.translate(["the dog eats"], Search(beam=4, n_best=4))
    ranked = [result, *result.alternatives]
    assert len(ranked) == 4 and len({each.tokens for each in ranked}) == 4
    assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
    for each in ranked:
        assert each.alternatives == () or each is result
        assert each.log_prob == pytest.approx(sum(each.token_log_probs), abs=1e-4)
        assert each.token_weights is not None and each.token_weights.shape[1] == len(each.tokens)


def test_log_probs_equal_those_of_teacher_forcing(learnt: Translator) -> None:
    (result,) = learnt.translate(["the dog sleeps"])
    source = learnt.vocabularies.source.encode(result.source)
    attention = result.attention
    assert attention is not None
    batch = Batch.of([source], [attention.target.ids], [0])
    with torch.inference_mode():
        logits = learnt.model(batch.source, batch.source_readable, batch.target_in)
    expected = logits.log_softmax(-1)[0].gather(-1, torch.tensor([*attention.target.ids, EOS])[:, None]).squeeze(-1)
    assert result.token_log_probs == pytest.approx(expected.tolist(), abs=1e-4)


@pytest.mark.parametrize("name", ["bahdanau2014", "vaswani2017"])
def test_attention_is_the_same_in_batches_and_alone(
    name: str, untrained: Untrained, vocabularies: Vocabularies, pairs: list[TextPair]
) -> None:
    translator = Translator(untrained(name), vocabularies, "cpu")
    sources = [pair.source for pair in pairs]
    together = translator.translate(sources, SHORT, weights=True)
    for source, now in zip(sources, together):
        later = translator.translate([source], SHORT)[0]
        assert later.attention is not None and now.attention is not None
        assert later.attention.words().shape == (len(words(now.text)), len(words(source)))
        for ours, theirs in zip(now.attention.layers, later.attention.layers):
            torch.testing.assert_close(torch.from_numpy(ours), torch.from_numpy(theirs), atol=1e-5, rtol=0)
            assert ours.sum(-1) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(("name", "shift"), [("bahdanau2014", 0), ("vaswani2017", 1)])
def test_attend_uses_the_step_that_aligns(
    name: str, shift: int, untrained: Untrained, vocabularies: Vocabularies, pairs: list[TextPair]
) -> None:
    model = untrained(name)
    translator = Translator(model, vocabularies, "cpu")
    output = translator.attend([p.source for p in pairs], [p.target for p in pairs])
    for pair, attended in zip(pairs, output):
        source, target = vocabularies.source.encode(pair.source), vocabularies.target.encode(pair.target)
        batch = Batch.of([source], [target], [0])
        with torch.inference_mode(), model.trace() as trace:
            model(batch.source, batch.source_readable, batch.target_in)
        assert len(attended.layers) == len(model.cross)
        for site, layer in zip(model.cross, map(attended.token_weights, range(len(model.cross)))):
            expected = trace[site][0, :, shift : shift + len(target)]
            torch.testing.assert_close(torch.from_numpy(layer), expected, atol=1e-5, rtol=0)
        assert attended.words().shape == (len(words(pair.target)), len(words(pair.source)))
        assert {link[1] for link in attended.alignment(by="word")} == set(range(len(words(pair.target))))


def test_a_model_without_attention_has_no_weights(untrained: Untrained, vocabularies: Vocabularies) -> None:
    translator = Translator(untrained("cho2014"), vocabularies, "cpu")
    assert not translator.attends
    (result,) = translator.translate(["the cat"], SHORT, weights=True)
    for nothing in (result.weights, result.alignment, result.token_weights, result.attention):
        assert nothing is None
    for ask in (result.plot, result.show, lambda: translator.attend(["a"], ["b"])):
        with pytest.raises(UserError, match="one fixed vector"):
            ask()
    assert "<table" not in result._repr_html_()
    assert result.as_dict()["alignment"] is None


def test_a_model_in_training_stays_in_training(untrained: Untrained, vocabularies: Vocabularies) -> None:
    model = untrained("vaswani2017", dropout=0.5).train()
    translator = Translator(model, vocabularies, "cpu")
    first, second = (translator.translate(["the cat"], SHORT, weights=True)[0] for _ in range(2))
    assert first.token_log_probs == second.token_log_probs  # no dropout inside
    assert model.training


def test_progress_counts_every_text(learnt: Translator) -> None:
    counts: list[int] = []
    learnt.translate(["it sleeps", "", "the cat sleeps"], SHORT, batch_tokens=1, progress=counts.append)
    assert sum(counts) == 3 and len(counts) >= 3


def test_invalid_arguments_are_refused(learnt: Translator, untrained: Untrained, pairs: list[TextPair]) -> None:
    with pytest.raises(UserError, match="list of texts"):
        learnt.translate("it sleeps")
    with pytest.raises(UserError, match="one line each"):
        learnt.attend(["a", "b"], ["c"])
    others = Vocabularies.train(pairs, Policy(kind="char", size=300))
    with pytest.raises(UserError, match="do not fit"):
        Translator(untrained("cho2014"), others, "cpu")


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=5))
def test_any_text_gives_one_line_with_aligned_words(learnt: Translator, texts: list[str]) -> None:
    results = learnt.translate(texts, SHORT, weights=True)
    assert len(results) == len(texts)
    for text, result in zip(texts, results):
        assert result.source == text and "\n" not in result.text
        assert result.attention is not None
        assert result.attention.words().shape == (len(words(result.text)), len(words(text.replace("\n", " "))))
        assert text.strip() or not result.text
