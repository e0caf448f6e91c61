"""Forced scores equal those of the search, for any model and direction, in any batch."""

import math
from itertools import count, islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.data import TextPair
from saccade.data.batching import pad_sources
from saccade.decode import PairScore, Search, Translator, combine, run_search, score_pairs
from saccade.decode.scoring import ScoreTotals, force_targets, log_probs
from saccade.models import MODELS
from saccade.text import Placeholders, Policy, Vocabularies


@pytest.mark.parametrize("right_to_left", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_hypotheses_have_the_log_probs_of_their_search(
    name: str, right_to_left: bool, untrained: Any, vocabularies: Vocabularies, pairs: list[TextPair]
) -> None:
    sides = vocabularies.towards(right_to_left=right_to_left)
    translator = Translator(untrained(name), sides, "cpu")
    ids = [sides.source.encode(pair.source) for pair in pairs[:4]]
    scored = run_search(translator.model, *pad_sources(ids), Search(beam=3, n_best=3, length_penalty=0, longest=12))
    written = [(row, hypothesis) for row, hypotheses in zip(ids, scored) for hypothesis in hypotheses]
    rows = force_targets(
        translator, [(row, hypothesis.tokens) for row, hypothesis in written], log_probs, batch_tokens=60
    )
    for (_, hypothesis), forced in zip(written, rows):
        requested = forced.tolist()[: len(hypothesis.token_log_probs)]  # one that was cut off has no end
        assert requested == pytest.approx(hypothesis.token_log_probs, abs=2e-4)
        assert sum(requested) == pytest.approx(hypothesis.log_prob, abs=1e-3)


@pytest.mark.parametrize("right_to_left", [False, True])
def test_a_translation_is_scored_as_its_text(right_to_left: bool, learnt: Translator, pairs: list[TextPair]) -> None:
    sides = learnt.vocabularies.towards(right_to_left=right_to_left)
    translator = Translator(learnt.model, sides, "cpu")
    results = translator.translate([pair.source for pair in pairs])
    scored = score_pairs(translator, [(each.source, each.text) for each in results])
    same = [(each, result) for each, result in zip(scored, results) if each.segments.tokens == result.tokens]
    assert len(same) >= 3  # a search may write a text in other pieces than it is cut into
    for each, result in same:
        assert each.log_prob == pytest.approx(result.log_prob, abs=1e-4)


@settings(deadline=None, max_examples=20)
@given(
    texts=st.lists(st.tuples(st.text(" adehlstuz我", max_size=20), st.text(" cdehlort房", max_size=20)), max_size=7),
    batch_tokens=st.integers(1, 200),
    chunk=st.integers(1, 7),
)
def test_a_score_does_not_depend_on_other_pairs(
    learnt: Translator, texts: list[tuple[str, str]], batch_tokens: int, chunk: int
) -> None:
    together = [*score_pairs(learnt, texts, batch_tokens=batch_tokens, chunk=chunk)]
    assert [(each.source, each.target) for each in together] == texts
    for each, text in zip(together, texts):
        (alone,) = score_pairs(learnt, [text])
        assert each.token_log_probs == pytest.approx(alone.token_log_probs, abs=1e-4)
        assert each.segments == alone.segments and len(each.word_log_probs) == len(each.segments.words)
        lone = [p for p, span in zip(each.token_log_probs, each.segments.spans) if span[0] == span[1]]
        rest = math.fsum([*lone, *each.token_log_probs[len(each.segments.spans) :]])  # lone spaces, and the end
        assert math.fsum(each.word_log_probs) + rest == pytest.approx(each.log_prob, abs=1e-6)


def test_word_log_probs_in_either_direction(learnt: Translator) -> None:
    pair = ("the black cat sleeps", "le chat noir dort")
    (right,) = score_pairs(learnt, [pair])
    (wrong,) = score_pairs(learnt, [(pair[0], "le chien noir dort")])
    assert right.segments.words == ("le", "chat", "noir", "dort") and right.log_prob > wrong.log_prob
    assert min(range(4), key=lambda i: wrong.word_log_probs[i] - right.word_log_probs[i]) == 1
    turned = Translator(learnt.model, learnt.vocabularies.towards(right_to_left=True), "cpu")
    (other,) = score_pairs(turned, [pair])
    assert other.segments.words == right.segments.words and other.segments.tokens == right.segments.tokens[::-1]


def test_an_endless_stream_is_read_in_chunks(learnt: Translator) -> None:
    taken = []

    def pairs() -> Any:
        for number in count():
            taken.append(number)
            yield "it sleeps", "il dort"

    scored = [*islice(score_pairs(learnt, pairs(), chunk=4), 6)]
    assert len({round(each.log_prob, 4) for each in scored}) == 1 and len(taken) == 8


def test_blank_pairs_are_scored(learnt: Translator) -> None:
    both, no_target, no_source = score_pairs(learnt, [("", " "), ("it sleeps", ""), ("", "il dort")])
    assert (both.log_prob, both.mean, both.perplexity, both.token_log_probs, both.word_log_probs) == (0, 0, 1, (), ())
    assert len(no_target.token_log_probs) == 1 and no_target.log_prob < 0  # the end at once
    assert len(no_source.word_log_probs) == 2 and math.isfinite(no_source.log_prob)


def test_tags_placeholders_and_ensembles_are_scored(untrained: Any) -> None:
    texts = [TextPair("see 12 now", "voir 12"), TextPair("go", "va")]
    policy = Policy(kind="char", size=40, byte_fallback=False)
    sides = Vocabularies.train(texts, policy, tags=["<fr>"], placeholders=Placeholders(("number",)))
    model = MODELS["bahdanau2014"](MODELS["bahdanau2014"].PRESETS["tiny"], len(sides.source), len(sides.target)).eval()
    translator = Translator(model, sides, "cpu")
    (each,) = score_pairs(translator, [("<fr> see 345 now", "voir 345")])
    assert each.segments.words == ("voir", "345") and each.segments.tokens[-1] == "345"
    assert len(each.token_log_probs) == len("voir ") + 2  # a placeholder is one piece
    (result,) = translator.translate(["<fr> see 345 now"], Search(beam=4))
    (again,) = score_pairs(translator, [(result.source, result.text)])
    if again.segments.tokens == result.tokens and not result.notes:
        assert again.log_prob == pytest.approx(result.log_prob, abs=1e-4)
    both = combine({"a": translator, "b": translator})
    (twice,) = score_pairs(both, [("<fr> see 345 now", "voir 345")])
    assert twice.token_log_probs == pytest.approx(each.token_log_probs, abs=1e-5)


def test_totals_are_the_sum_of_the_pairs(learnt: Translator, pairs: list[TextPair]) -> None:
    scored: list[PairScore] = [*score_pairs(learnt, [*pairs, ("", "")])]
    total = ScoreTotals()
    for each in scored:
        total.add(each)
    tokens = [value for each in scored for value in each.token_log_probs]
    assert total.pairs == len(pairs) + 1 and total.pieces == len(tokens)
    assert total.perplexity == pytest.approx(math.exp(-sum(tokens) / len(tokens)))
    assert total.word_perplexity == pytest.approx(math.exp(-sum(tokens) / total.words))
    assert ScoreTotals().as_dict()["perplexity"] == 1
