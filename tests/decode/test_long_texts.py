"""Long texts are kept whole, translated in parts, or refused; never cut off."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from saccade.decode import Constraints, Search, Translation, Translator, combine
from saccade.decode.long_texts import join_parts
from saccade.decode.translator import LengthLimits
from saccade.errors import UserError
from saccade.models import MODELS, Seq2Seq
from saccade.text import Policy, Vocabularies, words

Untrained = Callable[..., Seq2Seq[Any, Any]]
TEXT = "The cat sleeps. A dog eats! I see the house. It sleeps."
SENTENCES = ["The cat sleeps.", "A dog eats!", "I see the house.", "It sleeps."]
HOW = Search(beam=3, n_best=3, longest=6, length_penalty=0.7)


@pytest.fixture(params=MODELS)
def translator(request: pytest.FixtureRequest, untrained: Untrained, vocabularies: Vocabularies) -> Translator:
    return Translator(untrained(request.param), vocabularies, "cpu", longest_trained=5)


def test_parts_equal_the_translations_of_their_sentences(translator: Translator) -> None:
    whole, blank, short = translator.translate([TEXT, "", "It sleeps."], HOW, too_long="split")
    alone = translator.translate(SENTENCES, HOW)
    assert [part.source for part in whole.parts] == SENTENCES
    assert [part.text for part in whole.parts] == [each.text for each in alone]
    assert whole.tokens == tuple(token for each in alone for token in each.tokens)
    assert whole.log_prob == pytest.approx(sum(each.log_prob for each in alone), abs=1e-4)
    assert whole.log_prob == pytest.approx(sum(whole.token_log_probs), abs=1e-4)
    assert whole.score == pytest.approx(HOW.score(whole.log_prob, len(whole.token_log_probs)), abs=1e-5)
    assert (
        whole.source == TEXT
        and whole.notes[0].endswith("translated in 4 parts")
        and "more than the 5" in whole.notes[0]
    )
    assert short.parts == blank.parts == () and short.notes == ()
    scores = [each.score for each in (whole, *whole.alternatives) if each.ended]
    assert len(whole.alternatives) == 2 and scores == sorted(scores, reverse=True)
    assert len({each.tokens for each in (whole, *whole.alternatives)}) == 3
    assert whole.as_dict()["parts"] == [{"source": part.source, "text": part.text} for part in whole.parts]


def test_attention_of_the_whole_consists_of_the_parts(translator: Translator) -> None:
    (whole,) = translator.translate([TEXT], HOW, too_long="split", weights=True)
    for each in (whole, *whole.alternatives):
        if not translator.attends:
            assert each.attention is None
            continue
        assert each.attention is not None and each.weights is not None and each.token_weights is not None
        assert list(each.attention.source.words) == words(TEXT)
        assert each.weights.shape == (len(each.attention.target.words), len(words(TEXT)))
        assert each.token_weights.shape[1:] == (len(each.tokens), len(each.attention.source_tokens))
        assert each.token_weights.sum(-1) == pytest.approx(1, abs=1e-4)
        row = column = 0
        for part in each.parts:
            assert part.weights is not None
            rows, columns = part.weights.shape
            block = each.weights[row : row + rows, column : column + columns]
            np.testing.assert_allclose(block, part.weights, atol=1e-6)
            assert each.weights[row : row + rows].sum() == pytest.approx(block.sum(), abs=1e-5)
            row, column = row + rows, column + columns


def test_coverage_penalties_of_parts_are_added(untrained: Untrained, vocabularies: Vocabularies) -> None:
    """The coverage penalty is a sum over the source, and so over its parts."""
    translator = Translator(untrained("bahdanau2014"), vocabularies, "cpu", longest_trained=5)
    search = Search(longest=6, coverage_penalty=0.3)
    (whole,) = translator.translate([TEXT], search, too_long="split")
    costs = [part.score - search.score(part.log_prob, len(part.token_log_probs)) for part in whole.parts]
    assert len(costs) == 4 and max(costs) < 0
    assert whole.score == pytest.approx(search.score(whole.log_prob, len(whole.token_log_probs)) + sum(costs), abs=1e-4)


def test_a_whole_ends_if_all_parts_end_and_comes_first() -> None:
    def part(log_prob: float, ended: bool, *alternatives: Translation) -> Translation:
        numbers = {"score": log_prob, "log_prob": log_prob, "token_log_probs": (log_prob,)}
        return Translation(source="x", text="y", tokens=(), ended=ended, alternatives=alternatives, **numbers)

    search = Search(beam=4, n_best=4, length_norm="none")
    results = join_parts("x x", [part(-1.0, True), part(-2.0, False, part(-3.0, True))], search)
    assert [(each.ended, each.score) for each in results.n_best] == [(True, -4.0), (False, -3.0)]


def test_samples_of_parts_do_not_depend_on_other_texts(translator: Translator) -> None:
    search = Search(sample=True, longest=6, beam=2, n_best=2)
    again = "It sleeps. It sleeps. It sleeps. It sleeps."
    each, other = (
        [result.text for result in translator.translate([TEXT, again], search, too_long="split", batch_tokens=tokens)]
        for tokens in (1, 8192)
    )
    assert each == other
    (drawn,) = translator.translate([again], search, too_long="split")
    assert len({part.tokens for part in drawn.parts}) > 1  # each from a stream of its own


def test_long_texts_are_kept_or_refused(learnt: Translator) -> None:
    translator = Translator(learnt.model, learnt.vocabularies, "cpu", longest_trained=5)
    (saved,) = translator.translate([TEXT])
    assert saved.parts == () and saved.notes == ()
    with pytest.raises(UserError, match=r"^text 2: 16 words, more than the 5 .*too_long='split'"):
        translator.translate(["It sleeps.", TEXT], too_long="refuse")
    with pytest.raises(UserError, match="text 12: "):
        list(translator.translate_stream(["It sleeps.", TEXT], too_long="refuse", first=10))
    with pytest.raises(UserError, match="too_long must be keep, split"):
        translator.translate(["a"], too_long=cast(Any, "cut"))


def test_a_text_that_cannot_be_split_is_kept_with_a_note_or_refused(learnt: Translator) -> None:
    translator = Translator(learnt.model, learnt.vocabularies, "cpu", longest_trained=4)
    endless, mixed = "a big dog eats an apple", "It sleeps. A big dog eats an apple."
    each, two = translator.translate([endless, mixed], too_long="split")
    assert each.parts == () and "no sentence boundaries" in each.notes[0]
    assert len(two.parts) == 2 and "in 2 parts, one of which still has 7 words" in two.notes[0]
    for text, message in ((endless, "6 words"), (mixed, "one of its sentences still has 7 words")):
        with pytest.raises(UserError, match=message):
            translator.translate([text], too_long="split-or-refuse")
    assert len(translator.translate(["It sleeps. It sleeps. It."], too_long="split-or-refuse")[0].parts) == 3


def test_a_text_with_constraints_is_not_split(learnt: Translator) -> None:
    translator = Translator(learnt.model, learnt.vocabularies, "cpu", longest_trained=5)
    requested = Constraints(include=("chien",))
    (saved,) = translator.translate([TEXT], constraints=requested, too_long="split")
    assert saved.parts == () and "its constraints apply to the whole text" in saved.notes[0]
    assert "chien" in words(saved.text) or saved.unmet
    with pytest.raises(UserError, match="constraints apply to the whole text"):
        translator.translate([TEXT], constraints=requested, too_long="split-or-refuse")
    assert translator.translate([TEXT], constraints=Constraints(), too_long="split")[0].parts


def test_each_part_has_its_tree(learnt: Translator) -> None:
    translator = Translator(learnt.model, learnt.vocabularies, "cpu", longest_trained=5)
    (whole,) = translator.translate([TEXT], too_long="split", record=True)
    assert whole.tree is None and all(part.tree is not None for part in whole.parts)


def test_progress_counts_texts_not_parts(learnt: Translator) -> None:
    translator = Translator(learnt.model, learnt.vocabularies, "cpu", longest_trained=5)
    counts: list[int] = []
    translator.translate([TEXT, "", "It sleeps.", TEXT], too_long="split", batch_tokens=1, progress=counts.append)
    assert sum(counts) == 4 and max(counts) == 1


def test_learned_positions_limit_the_tokens(untrained: Untrained, vocabularies: Vocabularies) -> None:
    assert LengthLimits.from_model(untrained("vaswani2017", positions="learned", longest=12)).tokens == 12
    assert LengthLimits.from_model(untrained("gehring2017", longest=12)).tokens == 12
    assert LengthLimits.from_model(untrained("luong2015", attention="luong2015-global-location")).tokens == 256
    assert LengthLimits.from_model(untrained("vaswani2017")) == LengthLimits()
    translator = Translator(untrained("gehring2017", longest=12), vocabularies, "cpu")
    (whole,) = translator.translate([TEXT], HOW, too_long="split")
    assert "tokens with the end symbol, more than the 12" in whole.notes[0]


def test_a_text_at_the_limit_is_not_too_long(untrained: Untrained, vocabularies: Vocabularies) -> None:
    translator = Translator(untrained("cho2014"), vocabularies, "cpu")
    tokens = len(vocabularies.source.encode("It sleeps.")) + 1  # with the end
    translator.limits = LengthLimits(tokens=tokens)
    assert translator.excess("It sleeps.") is None
    translator.limits = LengthLimits(tokens=tokens - 1)
    assert str(translator.excess("It sleeps.")).startswith(f"{tokens} tokens with the end symbol")
    translator.limits = LengthLimits(words=3)
    assert translator.excess("It sleeps.") is None  # the full stop is a word


def test_the_shortest_table_of_positions_is_the_limit(untrained: Untrained) -> None:
    for longest in (12, 300):
        model = untrained("gehring2017", longest=longest, attention="luong2015-global-location")
        assert LengthLimits.from_model(model).tokens == min(longest, 256)


def test_an_ensemble_has_the_lowest_limits(untrained: Untrained, vocabularies: Vocabularies) -> None:
    members = {
        "a": Translator(untrained("gehring2017", longest=30), vocabularies, "cpu", longest_trained=9),
        "b": Translator(untrained("bahdanau2014"), vocabularies, "cpu", longest_trained=7),
        "c": Translator(untrained("cho2014"), vocabularies, "cpu"),
    }
    assert combine(members).limits == LengthLimits(words=7, tokens=30)


def test_a_tag_is_put_before_each_part(pairs: Any) -> None:
    vocabularies = Vocabularies.train(pairs, Policy(kind="bpe", size=330), tags=["<fr>"])
    kind = MODELS["cho2014"]
    model = kind(kind.PRESETS["tiny"], len(vocabularies.source), len(vocabularies.target))
    translator = Translator(model, vocabularies, "cpu", longest_trained=3)
    results = translator.split("<fr> It sleeps. It eats.", "split")
    assert results.parts == ["<fr> It sleeps.", "<fr> It eats."] and results.note is not None
    assert translator.split("<fr> It sleeps.", "split").note is None  # the tag is no word
