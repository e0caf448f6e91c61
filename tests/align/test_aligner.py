"""Words linked by any model with attention, in one direction and in both."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from saccade.align import GoldLinks, score_alignments, symmetrise
from saccade.align.aligner import CHUNK, Aligner, HeadEntropies
from saccade.align.attention import AlignmentHead
from saccade.data import TextPair
from saccade.data.batching import Batch
from saccade.decode import Translator
from saccade.errors import UserError
from saccade.models import MODELS, Seq2Seq
from saccade.text import PAD, Policy, Vocabularies, words

Untrained = Callable[..., Seq2Seq[Any, Any]]


@pytest.fixture(scope="module")
def rnn(untrained: Untrained, vocabularies: Vocabularies) -> Translator:
    return Translator(untrained("bahdanau2014"), vocabularies, "cpu")


@pytest.mark.parametrize("name", MODELS)
def test_every_model_with_attention_aligns(
    name: str, untrained: Untrained, vocabularies: Vocabularies, pairs: list[TextPair]
) -> None:
    translator = Translator(untrained(name), vocabularies, "cpu")
    if not translator.attends:
        with pytest.raises(UserError, match="the model has no attention to align by"):
            Aligner(translator)
        return
    found = list(Aligner(translator).align(pairs))
    heads = HeadEntropies()
    for pair, one in zip(pairs, found, strict=True):
        assert one.source == tuple(words(pair.source))
        assert one.target == tuple(words(pair.target))
        assert one.weights.shape == (len(one.target), len(one.source))
        assert all(i < len(one.source) and j < len(one.target) for i, j in one.links)
        assert one.attention is not None
        assert one.links == one.attention.alignment(by="word")
        heads.add(one.attention)
    assert len(heads.mean()) == len(translator.model.cross)
    longest = max(len(one.attention.source_tokens) for one in found if one.attention)
    assert all(0 <= bits <= np.log2(longest) for layer in heads.mean() for bits in layer)


def test_a_result_does_not_depend_on_other_pairs_and_blank_pairs_keep_their_place(
    rnn: Translator, pairs: list[TextPair]
) -> None:
    many = [*pairs, TextPair("", "le chat"), TextPair("the cat", " "), *pairs] * (1 + CHUNK // 18)
    aligner = Aligner(rnn, by="word")  # else the first pairs decide what all are aligned by
    alone = [next(aligner.align([pair])).links for pair in pairs]
    found = [one.links for one in aligner.align(many)]
    assert len(found) == len(many) > CHUNK
    assert found[: len(pairs)] == found[-len(pairs) :] == alone
    (blank,) = aligner.align([TextPair("", "le chat")])
    assert (blank.links, blank.source, blank.target, blank.attention) == (frozenset(), (), ("le", "chat"), None)


def test_tokenised_text_is_split_at_white_space(rnn: Translator) -> None:
    pair = TextPair("the cat-like dog 's $5.50 .", "l'homme , 3,50 !!")
    ruled, spaced = Aligner(rnn), Aligner(rnn, tokenised=True)
    assert spaced.split(pair) == (tuple(pair.source.split()), tuple(pair.target.split()))
    assert ruled.split(pair) == (tuple(words(pair.source)), tuple(words(pair.target)))
    (one,) = spaced.align([pair])
    assert one.source == tuple(pair.source.split())
    assert one.target == tuple(pair.target.split())
    (other,) = ruled.align([pair])
    owner = [n for n, token in enumerate(pair.source.split()) for _ in words(token)]
    columns = np.stack([other.weights[:, [o == n for o in owner]].sum(1) for n in range(6)], 1)
    rows = [n for n, token in enumerate(pair.target.split()) for _ in words(token)]
    assert one.weights[1] == pytest.approx(columns[rows.index(1)])  # the comma is a word in both


def test_links_count_the_given_words_despite_normalisation(untrained: Untrained, pairs: list[TextPair]) -> None:
    vocabularies = Vocabularies.train(pairs, Policy(kind="bpe", size=330, normalise="nfkc"))
    model = MODELS["bahdanau2014"](MODELS["bahdanau2014"].PRESETS["tiny"], *map(len, (vocabularies.source,) * 2))
    (one,) = Aligner(Translator(model.eval(), vocabularies, "cpu")).align([TextPair("½ ﬁn … x", "a b")])
    assert one.source == ("½", "ﬁn", "…", "x")  # 1⁄2 are three words, and ... three
    assert one.weights.shape == (2, 4)


def test_both_directions_are_symmetrised(rnn: Translator, untrained: Untrained, vocabularies: Vocabularies) -> None:
    pairs = [TextPair("the black cat sleeps", "le chat noir dort")]
    reverse = Translator(untrained("vaswani2017"), vocabularies, "cpu")
    (one,) = Aligner(rnn).align(pairs)
    (other,) = Aligner(reverse).align([TextPair(pairs[0].target, pairs[0].source)])
    back = frozenset((j, i) for i, j in other.links)
    for how in ("intersection", "union", "grow-diag-final"):
        (both,) = Aligner(rnn, reverse=reverse, symmetrisation=how).align(pairs)
        assert both.links == symmetrise(one.links, back, how)
        assert both.weights == pytest.approx(one.weights)


def test_the_chosen_head_is_used(learnt: Translator, pairs: list[TextPair]) -> None:
    some = [TextPair("", "x"), *pairs[:4]]
    gold = [GoldLinks.all_sure([(n, n) for n in range(len(words(pair.source)))]) for pair in some]
    for truth in (gold, None):
        aligner, choice = Aligner(learnt).with_best_head(some, truth, every_head=True, every_shift=True)
        assert aligner.head == choice.head
        assert choice.by == ("gold" if truth else "predictability")
        assert (choice.pairs, choice.tried) == (4, 2 * (1 + 2 * 3))
    both, choice = Aligner(learnt, reverse=learnt).with_best_head(some, every_shift=True)
    assert choice.by == "agreement"
    assert both.reverse_head == choice.reverse_head
    assert Aligner(learnt, AlignmentHead(shift=0)).head == AlignmentHead(shift=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bahdanau2014", "gehring2017", "vaswani2017"])
def test_a_head_chosen_without_gold_aligns_well(name: str) -> None:
    """Letters become doubled capitals in reverse order. The layer and the step that align are not known in advance."""
    draw = random.Random(0)
    texts = [draw.sample("abcdefghijklmnop", draw.randint(3, 7)) for _ in range(1500)]
    pairs = [TextPair(" ".join(text), " ".join(2 * c.upper() for c in reversed(text))) for text in texts]
    vocabularies = Vocabularies.train(pairs, Policy(kind="word", size=60, byte_fallback=False))
    torch.manual_seed(1)
    model = MODELS[name](MODELS[name].PRESETS["tiny"], len(vocabularies.source), len(vocabularies.target))
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(250):
        some = draw.sample(pairs[60:], 48)
        sides = zip(*map(vocabularies.encode, some))
        batch = Batch.of(*map(list, sides), range(48))
        logits = model(batch.source, batch.source_readable, batch.target_in)
        optimiser.zero_grad()
        cross_entropy(logits.flatten(0, 1), batch.target_out.flatten(), ignore_index=PAD).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    aligner, test = Aligner(Translator(model.eval(), vocabularies, "cpu")), pairs[:60]
    gold = [GoldLinks.all_sure([(len(text) - 1 - j, j) for j in range(len(text))]) for text in texts[:60]]
    known, unknown = (
        aligner.with_best_head(test, truth, every_head=True, every_shift=True)[0] for truth in (gold, None)
    )
    errors = [score_alignments([one.links for one in a.align(test)], gold).aer for a in (known, unknown)]
    assert errors[0] < 0.2
    assert errors[1] <= errors[0] + 0.05
    other = Aligner(aligner.translator, replace(known.head, shift=1 - (known.head.shift or 0)))
    assert score_alignments([one.links for one in other.align(test)], gold).aer > errors[0] + 0.4


def test_choosing_without_text_is_refused(learnt: Translator) -> None:
    with pytest.raises(UserError, match="every pair has a blank side"):
        Aligner(learnt).with_best_head([TextPair("", "a")], every_head=True)


def test_mistakes_are_reported_before_any_work(rnn: Translator) -> None:
    unknown: Any = "grow"
    with pytest.raises(UserError, match="unknown symmetrisation"):
        Aligner(rnn, symmetrisation=unknown)
    with pytest.raises(UserError, match="layer 7 does not exist"):
        list(Aligner(rnn, AlignmentHead(layer=7)).align([TextPair("a", "b")]))


def test_a_model_of_characters_aligns_letters(speller: Translator) -> None:
    pairs = [TextPair("badge", "BADGE"), TextPair("", "A"), TextPair("fed", "FED")]
    first, blank, last = Aligner(speller).align(pairs)
    assert (first.unit, first.source, first.target) == ("piece", (*"badge",), (*"BADGE",))
    assert first.links == {(place, place) for place in range(5)} and last.links == {(0, 0), (1, 1), (2, 2)}
    assert (blank.unit, blank.source, blank.target, blank.links) == ("piece", (), ("A",), frozenset())
    assert Aligner(speller).split(pairs[0]) == ((*"badge",), (*"BADGE",))
    (by_word,) = Aligner(speller, by="word").align(pairs[:1])
    assert (by_word.unit, by_word.source, by_word.links) == ("word", ("badge",), {(0, 0)})


def test_a_corpus_has_one_unit_and_single_words_are_aligned_by_piece(rnn: Translator, pairs: list[TextPair]) -> None:
    single = TextPair("extraordinarily", "extraordinairement")
    assert {one.unit for one in Aligner(rnn).align([single, single])} == {"piece"}
    assert {one.unit for one in Aligner(rnn).align([single, pairs[0]])} == {"word"}
    many = [single] * CHUNK + [pairs[0]]
    assert {one.unit for one in Aligner(rnn).align(many)} == {"piece"}  # what it began with
    chosen, choice = Aligner(rnn).with_best_head([single, single], every_shift=True)
    assert chosen.by == choice.unit == "piece" and "predictability in bits per piece" in str(choice)


def test_two_models_are_combined_by_piece_only_if_their_tokens_are_equal(
    speller: Translator, rnn: Translator, untrained: Untrained
) -> None:
    pair = TextPair("badge", "BADGE")
    (both,) = Aligner(speller, reverse=speller, symmetrisation="union").align([pair])
    assert both.links >= {(place, place) for place in range(5)}
    with pytest.raises(UserError, match="pair 1: the two models split it into different tokens"):
        list(Aligner(speller, reverse=rnn).align([pair]))
    with pytest.raises(UserError, match="leave out tokenised to align by piece"):
        Aligner(speller, tokenised=True, by="piece")
    assert Aligner(speller, tokenised=True).unit([pair]) == "word"
