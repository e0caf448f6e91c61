"""Constraints are met or reported by every mode of search, on the text, in any tokens, word for word."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from brute_force import Spelled, Watched, contains_excluded, required
from hypothesis import given, settings
from hypothesis import strategies as st
from search_models import single
from test_exhaustive import OUTLINES, PHRASES, SOURCE

from saccade.data import TextPair
from saccade.decode import DEFAULT_SEARCH, Constraints, Search, Translator, run_search
from saccade.decode.constraints.choice import Rules
from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.ranges import OptionError
from saccade.text import EOS, Placeholders, Policy, Vocabularies, words

SEARCHES = [
    Search(),
    Search(beam=2),
    Search(beam=4, n_best=3),
    Search(beam=6, groups=3, n_best=6),
    Search(beam=3, n_best=3, sample=True),
    Search(beam=2, n_best=2, sample=True, top_k=1),
    Search(beam=3, sample=True, temperature=2.0, top_p=0.3, min_p=0.2),
]
phrases = st.lists(st.sampled_from(PHRASES[:-1]), max_size=3, unique=True).map(tuple)
wanted = st.one_of(
    phrases.map(lambda included: Constraints(include=included)),
    st.builds(Constraints, prefix=st.sampled_from(["a", "ab", "a ", " a", "b b a"]), include=phrases),
    st.builds(Constraints, outline=st.sampled_from(OUTLINES[:7] + OUTLINES[9:]), include=phrases),
)
few, many = (settings(deadline=None, max_examples=count, derandomize=True) for count in (40, 500))


asking = given(
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1.0, 4.0]),
    search=st.sampled_from(SEARCHES),
    constraints=wanted,
    reverse=st.booleans(),
)
asking_much = given(
    seed=st.integers(0, 10**6),
    search=st.sampled_from(SEARCHES),
    constraints=st.just(Constraints()) | wanted,
    excluded=phrases,
    form=st.sampled_from([{}, {"no_repeat": 2}, {"repeats": 1, "shortest": 3}, {"longest": 4}]),
    reverse=st.booleans(),
)


def check_met(seed: int, scale: float, search: Search, constraints: Constraints, reverse: bool) -> None:
    tokeniser, chain = Spelled(reverse), Watched(seed, scale, places=40)
    (results,) = run_search(chain, *single(*SOURCE), search, rules=[Rules(constraints, tokeniser.token_bytes)])
    assert results and not results[0].unmet
    for hypothesis in results[: search.n_best]:
        text = tokeniser.decode(hypothesis.tokens)
        missing = [label for label, met in required(text, constraints) if not met]
        assert not missing or not hypothesis.ended
        assert len(hypothesis.unmet) == len(missing)


def check_reported(
    seed: int, search: Search, constraints: Constraints, excluded: tuple[str, ...], form: dict[str, Any], reverse: bool
) -> None:
    tokeniser, chain = Spelled(reverse), Watched(seed, 2.0, places=40)
    constraints = replace(constraints, exclude=excluded)
    (results,) = run_search(
        chain, *single(*SOURCE), replace(search, **form), rules=[Rules(constraints, tokeniser.token_bytes)]
    )
    assert results
    for hypothesis in results:
        text = tokeniser.decode(hypothesis.tokens)
        for label, met in required(text, constraints):
            assert met or any(message.startswith(f"{label!r}: ") for message in hypothesis.unmet)
        if contains_excluded(text, constraints):
            assert not hypothesis.ended and any("which is excluded" in message for message in hypothesis.unmet)
        excluded_now = sum("which is excluded: " in message for message in hypothesis.unmet)
        assert len(hypothesis.unmet) - excluded_now == sum(not met for _, met in required(text, constraints))


@few
@asking
def test_required_phrases_are_written(**case: Any) -> None:
    """There is room for it, and nothing stands against it: so it must be there."""
    check_met(**case)


@pytest.mark.slow
@many
@asking
def test_required_phrases_are_written_in_many_cases(**case: Any) -> None:
    check_met(**case)


@few
@asking_much
def test_unmet_constraints_are_reported(**case: Any) -> None:
    check_reported(**case)


@pytest.mark.slow
@many
@asking_much
def test_unmet_constraints_are_reported_in_many_cases(**case: Any) -> None:
    check_reported(**case)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("search", SEARCHES)
def test_text_that_is_cut_off_contains_no_excluded_phrase(search: Search, reverse: bool) -> None:
    """At the longest length a word is whole, though no piece has shown that it is."""
    tokeniser, constraints = Spelled(reverse), Constraints(exclude=("a", "b"))
    for seed in range(4):
        chain = Watched(seed, 3.0)
        chain.logits[..., EOS] = -math.inf
        (results,) = run_search(
            chain, *single(*SOURCE), replace(search, longest=4), rules=[Rules(constraints, tokeniser.token_bytes)]
        )
        for hypothesis in results:
            assert not hypothesis.ended and hypothesis.unmet == ()
            assert not contains_excluded(tokeniser.decode(hypothesis.tokens), constraints)


def test_an_excluded_word_at_the_end_needs_one_more_token() -> None:
    """Written at the end, *a* may still become *ab*: it may not end there, and the room for that piece is kept."""
    rules = Rules(Constraints(include=("b",), exclude=("a",)), Spelled().token_bytes)
    state, seen = rules.start, []
    for piece in (7, 6, 4, 6):  # "b ab"
        after = rules.advance(state, piece, is_last=False)
        assert after is not None
        state = after
        seen.append((state.left, state.is_met, rules.advance(state, EOS, is_last=True) is not None))
    assert seen[1:] == [(0.0, True, True), (1.0, False, False), (0.0, True, True)]
    state = rules.advance(rules.start, 4, is_last=False)
    assert state is not None and rules.advance(state, 7, is_last=False) is None  # a space makes it the word *a*
    assert rules.advance(rules.start, 4, is_last=True) is None  # and so does the longest length


def test_an_impossible_phrase_that_was_written_is_not_missing() -> None:
    """The phrase is required and excluded. No two tokens may repeat, so that in the end only the phrase can follow."""
    tokeniser, constraints = Spelled(), Constraints(include=("a", "b"), exclude=("a",))
    chain = Watched(0, 2.0, places=40)
    (results,) = run_search(
        chain, *single(*SOURCE), Search(no_repeat=2), rules=[Rules(constraints, tokeniser.token_bytes)]
    )
    (message,) = results[0].unmet
    assert contains_excluded(tokeniser.decode(results[0].tokens), constraints) and message.startswith(
        "'a', which is excluded: "
    )


def translated(translator: Translator, source: str, search: Search = DEFAULT_SEARCH, **constraints: Any) -> str:
    (result,) = translator.translate([source], search, constraints=Constraints(**constraints))
    assert result.unmet == (), result.unmet
    return result.text


def test_phrases_match_whole_words(learnt: Translator) -> None:
    source = "the black cat sleeps"
    assert translated(learnt, source) == "le chat noir dort"
    assert translated(learnt, source, include=("chien",)).split()[:2] == ["le", "chien"]
    assert translated(learnt, source, exclude=("cha", "or", "l")) == "le chat noir dort"  # parts of words
    assert " noir " not in f" {translated(learnt, source, exclude=('noir',))} "
    assert translated(learnt, "we see the black house", exclude=("黑",)) == "我们看见房子"
    assert translated(learnt, "we see the black house", include=("看见",)) == "我们看见黑房子"


def test_prefix_is_kept_and_its_last_word_completed(learnt: Translator) -> None:
    """In the pieces that the model knows: *cha* alone would be cut otherwise than *chat*."""
    for search in (Search(), Search(beam=5)):
        for prefix in ("l", "le", "le ", "le c", "le cha", "le chat noir d", "le chat noir dort"):
            (result,) = learnt.translate(["the black cat sleeps"], search, constraints=Constraints(prefix=prefix))
            assert result.text == "le chat noir dort" and result.log_prob > -0.5
    assert translated(learnt, "the black cat sleeps", prefix="un ch").startswith("un ch")
    assert translated(learnt, "it sleeps", prefix="ß 黑").startswith("ß 黑")  # in bytes


def test_outline_is_completed(learnt: Translator) -> None:
    source = "the black cat sleeps"
    assert translated(learnt, source, outline="le … dort") == "le chat noir dort"
    assert translated(learnt, source, outline="… n… dort") == "le chat noir dort"
    assert translated(learnt, source, outline="le chat") == "le chat"
    text = translated(learnt, source, outline="le … mange …")
    assert text.startswith("le ") and " mange" in text
    assert translated(learnt, source, outline="… mange").endswith(" mange")


def test_each_text_has_its_own_constraints(learnt: Translator, pairs: list[TextPair]) -> None:
    """The constraints of one text do not change the others."""
    sources = [pair.source for pair in pairs] + [""]
    by_text = [None, Constraints(include=("chien",)), None, Constraints(exclude=("mange",))] + [None] * 5
    results = learnt.translate(sources, constraints=by_text)
    free = learnt.translate(sources)
    assert [each.text for each, asked_ in zip(results, by_text) if asked_ is None] == [
        each.text for each, asked_ in zip(free, by_text) if asked_ is None
    ]
    assert "chien" in results[1].text.split() and "mange" not in results[3].text.split()
    stream = learnt.translate_stream(zip(sources, by_text), chunk=2)
    assert [each.text for each in stream] == [each.text for each in results]
    with pytest.raises(UserError, match="constraints"):
        learnt.translate(sources, constraints=by_text[:2])


def test_unmet_constraints_have_reasons(learnt: Translator) -> None:
    def unmet(search: Search = DEFAULT_SEARCH, source: str = "it sleeps", **constraints: Any) -> tuple[str, ...]:
        (result,) = learnt.translate([source], search, constraints=Constraints(**constraints))
        assert result.as_dict()["unmet"] == list(result.unmet)
        return result.unmet

    assert unmet(include=("chat noir",), exclude=("noir",)) == ("'chat noir': it contains 'noir', which is excluded",)
    (message,) = unmet(Search(longest=2), include=("extraordinairement chien",))
    assert message == "'extraordinairement chien': not written within the maximum length of 2 tokens"
    assert unmet(source=" ", include=("a",), exclude=("b",)) == ("'a': the source is blank",)
    (message,) = unmet(Search(beam=2, no_repeat=1), include=("a a a a",))
    assert message.startswith("'a a a a': ")


def test_an_unwritable_phrase_is_reported(untrained: Callable[..., Seq2Seq[Any, Any]], pairs: list[TextPair]) -> None:
    few = Vocabularies.train(pairs, Policy(kind="char", size=60, byte_fallback=False))
    model = untrained("cho2014")
    model = type(model)(model.config, len(few.source), len(few.target)).eval()
    (result,) = Translator(model, few, "cpu").translate(["it"], constraints=Constraints(include=("ß",)))
    assert result.unmet == ("'ß': the vocabulary has no tokens to write it with",)


def test_constraints_hold_from_right_to_left(learnt: Translator) -> None:
    """The same texts are met by a model that writes them from their end."""
    reverse = Translator(learnt.model, learnt.vocabularies.towards(right_to_left=True), "cpu")
    assert reverse.translate(["the cat sleeps"])[0].text != learnt.translate(["the cat sleeps"])[0].text
    for search in (Search(), Search(beam=6)):
        text = translated(
            reverse, "the cat sleeps", search, prefix="un ch", include=("noir dort",), exclude=("le", "chat")
        )
        assert text.startswith("un ch") and " noir dort" in text and not {"le", "chat"} & set(text.split())
        assert words(translated(reverse, "the cat sleeps", search, outline="… mange"))[-1] == "mange"


def test_constraints_apply_to_the_text_of_placeholders(
    untrained: Callable[..., Seq2Seq[Any, Any]], pairs: list[TextPair]
) -> None:
    numbers = [TextPair(f"{pair.source} 7", f"{pair.target} 7") for pair in pairs]
    vocabularies = Vocabularies.train(numbers, Policy(kind="bpe", size=350), placeholders=Placeholders(("number",)))
    model = untrained("cho2014")
    model = type(model)(model.config, len(vocabularies.source), len(vocabularies.target)).eval()
    translator = Translator(model, vocabularies, "cpu")
    search = Search(beam=3, longest=12)
    assert "42" in words(translated(translator, "the cat 42", search, include=("42",)))
    assert translated(translator, "the cat 42", search, prefix="le 42").startswith("le 42")
    free = translated(translator, "the cat 42", search, exclude=("42",))
    assert "42" not in words(free)


def test_invalid_constraints_are_refused() -> None:
    for options, message in (
        ({"prefix": "a", "outline": "b …"}, "prefix cannot be combined with an outline"),
        ({"outline": " … "}, "got only gaps"),
        ({"include": "chat"}, "include takes a list"),
        ({"exclude": (" ",)}, "exclude takes a list"),
    ):
        with pytest.raises(OptionError, match=message):
            Constraints(**options)  # type: ignore[arg-type]
    assert Constraints.from_json({"include": ["a"], "prefix": "b"}) == Constraints(include=("a",), prefix="b")
    for bad, message in (
        ([], "expected an object"),
        ({"includes": []}, "expected an object"),
        ({"include": "a"}, "a list"),
    ):
        with pytest.raises(UserError, match=message):
            Constraints.from_json(bad)
