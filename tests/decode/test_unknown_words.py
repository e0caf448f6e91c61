"""Unknown words are replaced by source words or dictionary entries, for every model."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.align import AlignmentHead, PairAttention, SegmentedText
from saccade.data import TextPair
from saccade.decode import Search, Translation, Translator, replace_unknown
from saccade.decode.unknown_words import read_dictionary
from saccade.errors import UserError
from saccade.models import MODELS, Seq2Seq
from saccade.text import UNK, Policy, Vocabularies, words

PAIRS = [
    TextPair("the cat sleeps, Anna", "le chat, dort."),
    TextPair("we see", "我看见 l'ab"),
]


@pytest.fixture(scope="module", params=["word", "char"])
def kind(request: pytest.FixtureRequest) -> Vocabularies:
    return vocabularies_of(request.param)


@cache
def vocabularies_of(kind: Any) -> Vocabularies:
    return Vocabularies.train(PAIRS, Policy(kind=kind, size=400, byte_fallback=False))


def result(vocabularies: Vocabularies, source: str, target: str, reads: Sequence[int]) -> Translation:
    """A translation whose target has unknown words, each piece of which read the source word of that number most."""
    ids = vocabularies.target.encode(target)
    read = SegmentedText.from_text(source, vocabularies.source)
    wrote = SegmentedText.from_ids(ids, vocabularies.target)
    weights = np.full((1, len(ids) + 1, len(read.ids) + 1), 0.01, np.float32)
    looked = iter(reads)
    for step, each in enumerate(ids):
        if each == UNK:
            word = next(looked)
            (column, *_) = [k for k, (first, end) in enumerate(read.spans) if first <= word < end]
            weights[0, step, column] = 0.9
    attended = PairAttention(
        source=read, target=wrote, layers=(weights,), default_head=AlignmentHead(shift=0), end="</s>"
    )
    return Translation(
        source=source,
        text=vocabularies.target.decode(ids),
        tokens=tuple(vocabularies.target.tokens(ids)),
        score=-1.0,
        log_prob=-1.0,
        token_log_probs=(0.0,) * (len(ids) + 1),
        ended=True,
        attend=lambda: attended,
    )


@pytest.mark.parametrize(
    ("source", "target", "reads", "expected"),
    [
        ("the Zebra sleeps", "le ZZZ dort.", [1], "le Zebra dort."),
        ("Zebra sleeps", "ZZZ dort.", [0], "Zebra dort."),
        ("the cat , Zoe", "le chat, ZZZ", [3], "le chat, Zoe"),
        ("we see Łódź .", "le ZZZ.", [2], "le Łódź."),
        ("我看见Łódź", "le ZZZ dort", [3], "le Łódź dort"),
        ("the 猫 sleeps", "我Z见", [1], "我猫见"),
    ],
)
def test_unknown_words_become_source_words(
    source: str, target: str, reads: list[int], expected: str, kind: Vocabularies
) -> None:
    if kind.target.policy.kind == "word" and target == "我Z见":
        expected = "我 猫见"  # the lost space is that of the source word
    before = result(kind, source, target, reads)
    after = replace_unknown(before, kind)
    assert after.text == expected
    (each,) = after.replaced
    assert each.source_word == reads[0] and each.text == words(source)[reads[0]]
    assert words(expected)[slice(*each.words)] == [each.text]
    assert after.attention is not None and list(after.attention.target.words) == words(expected)
    assert after.attention.words().shape == (len(words(expected)), len(words(source)))
    assert (each.source_word, each.words[0]) in after.attention.alignment(by="word")
    assert after.tokens == before.tokens
    assert after.as_dict()["replaced"] == [{"words": each.words, "source_word": reads[0], "text": each.text}]


def test_a_word_with_an_unknown_letter_is_replaced() -> None:
    vocabularies = vocabularies_of("char")
    after = replace_unknown(result(vocabularies, "the Zebra, l'aZoe", "le caZZt, l'aZab", [1, 4]), vocabularies)
    assert after.text == "le Zebra, l'aZoe"
    assert [(each.words, each.source_word) for each in after.replaced] == [((1, 2), 1), ((4, 5), 4)]


def test_dictionary_has_precedence(kind: Vocabularies, tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("zebra\tzèbre\n\nNew\tNouvelle Orléans\nzebra\tautre\n", encoding="utf-8")
    known = read_dictionary(path)
    assert known == {"zebra": "zèbre", "New": "Nouvelle Orléans"}
    texts = {
        ("the zebra sleeps", "le ZZZ dort"): "le zèbre dort",
        ("Zebra sleeps", "ZZZ dort"): "Zèbre dort",
        ("New sleeps", "ZZZ dort"): "Nouvelle Orléans dort",
    }
    for (source, target), expected in texts.items():
        after = replace_unknown(result(kind, source, target, [words(source).index(words(source)[-2])]), kind, known)
        assert after.text == expected and after.attention is not None
        assert list(after.attention.target.words) == words(expected)
    assert after.replaced[0].words == (0, 2)
    bad = tmp_path / "bad.tsv"
    bad.write_text("zebra\tzèbre\nno tab\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"bad.tsv:2: "):
        read_dictionary(bad)


def test_without_unknown_words_nothing_changes(kind: Vocabularies) -> None:
    before = result(kind, "the cat", "le chat", [])
    assert replace_unknown(before, kind) == before


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_words_and_spans_stay_consistent(data: st.DataObject) -> None:
    vocabularies = vocabularies_of(data.draw(st.sampled_from(["word", "char"])))
    few = st.lists(st.sampled_from(["le", "Zo", "我", "Ż", ".", "chat", "l'Q", "ab-Zy"]), min_size=1, max_size=6)
    source, target = " ".join(data.draw(few)), data.draw(st.sampled_from(["", " "])).join(data.draw(few))
    count = vocabularies.target.encode(target).count(UNK)
    reads = [data.draw(st.integers(0, len(words(source)) - 1)) for _ in range(count)]
    after = replace_unknown(result(vocabularies, source, target, reads), vocabularies)
    assert "⁇" not in after.text
    attention = after.attention
    assert attention is not None and list(attention.target.words) == words(after.text)
    assert all(0 <= first <= end <= len(words(after.text)) for first, end in attention.target.spans)
    for each in after.replaced:
        assert each.text.replace(" ", "") in "".join(words(after.text)[slice(*each.words)])


@pytest.mark.parametrize("name", MODELS)
def test_every_model_replaces_unknown_words(name: str, untrained: Callable[..., Seq2Seq[Any, Any]]) -> None:
    vocabularies = vocabularies_of("word")
    config = MODELS[name].PRESETS["tiny"]
    translator = Translator(
        MODELS[name](config, len(vocabularies.source), len(vocabularies.target)).eval(),
        vocabularies,
        "cpu",
        longest_trained=5,
    )
    search = Search(sample=True, beam=4, n_best=4, longest=12, temperature=5.0)
    texts = ["the Zebra sleeps. We see. Zoe and the cat", "the cat"]
    results = translator.translate(texts, search, too_long="split")
    (unknown,) = vocabularies.target.tokens([UNK])
    assert any(unknown in each.tokens for few in results for each in (few, *few.alternatives))
    if not translator.attends:
        with pytest.raises(UserError, match="one fixed vector"):
            for each in results:
                replace_unknown(each, vocabularies)
        return
    for before in results:
        after = replace_unknown(before, vocabularies)
        for each in (after, *after.alternatives):
            assert "⁇" not in each.text and each.attention is not None
            assert list(each.attention.target.words) == words(each.text)
            sources = words(each.source)
            assert all(word.text == sources[word.source_word] for word in each.replaced)
            assert bool(each.replaced) == (unknown in each.tokens)
