import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor

from saccade.errors import UserError
from saccade.text import BOS, EOS, PAD, UNK, Tokeniser, words
from saccade.text.tokeniser import Kind

LINES = [
    "The old dog sleeps near the bank of the river.",
    "Le vieux chien dort près de la rive du fleuve.",
    "She does not help the child, who reads a long book.",
    "Elle n'aide pas l'enfant, qui lit un long livre.",
    "老狗睡在河岸边。",
    "The bank is closed today; the child sleeps.",
] * 5
KINDS: tuple[Kind, ...] = ("unigram", "bpe", "char", "word")
TOKENISERS = {kind: Tokeniser.train(LINES, kind=kind, size=380) for kind in KINDS}
LOSSY = {kind: Tokeniser.train(LINES, kind=kind, size=120, byte_fallback=False) for kind in KINDS}

# Any line: what the vocabulary knows, what it does not, and what sentencepiece itself treats as special.
lines = st.one_of(
    st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])),
    st.lists(st.sampled_from(["the", " ", "  ", "▁", "▅", "⁇", "<s>", "<0x41>", "狗", "👍🏽", "é", "\t", "."])).map(
        "".join
    ),
)
kinds = st.sampled_from(KINDS)


@settings(deadline=None, max_examples=300)
@given(kinds, lines)
def test_any_line_is_encoded_without_loss(kind: Kind, line: str) -> None:
    tokeniser = TOKENISERS[kind]
    ids = tokeniser.encode(line)
    assert tokeniser.decode(ids) == line
    assert not {PAD, UNK, BOS, EOS} & set(ids)


@settings(deadline=None, max_examples=200)
@given(kinds, lines)
def test_the_spans_of_tokens_join_to_the_words(kind: Kind, line: str) -> None:
    tokeniser = TOKENISERS[kind]
    ids, ranges, text = tokeniser.encode_with_spans(line)
    assert ids == tokeniser.encode(line) and text == line
    assert (line, ranges) == tokeniser.decode_with_spans(ids)
    assert all(a <= c and b <= d for (a, b), (c, d) in pairwise(ranges))
    covered = {word for start, end in ranges for word in range(start, end)}
    assert covered == set(range(len(words(line))))


@settings(deadline=None, max_examples=200)
@given(kinds, st.lists(st.integers(0, 350)))
def test_any_ids_decode_with_and_without_spans(kind: Kind, ids: list[int]) -> None:
    tokeniser = TOKENISERS[kind]
    ids = [i for i in ids if i < len(tokeniser)]
    text, ranges = tokeniser.decode_with_spans(ids)
    assert text == tokeniser.decode(ids)
    assert len(ranges) == len(ids) == len(tokeniser.tokens(ids))
    assert all(0 <= first <= stop <= len(words(text)) for first, stop in ranges)


@settings(deadline=None, max_examples=100)
@given(kinds, lines)
def test_spans_without_bytes_refer_to_the_words_of_the_text(kind: Kind, line: str) -> None:
    tokeniser = LOSSY[kind]
    ids, ranges, text = tokeniser.encode_with_spans(line)
    assert len(ids) == len(ranges) and text == line
    assert {word for start, end in ranges for word in range(start, end)} == set(range(len(words(line))))


def test_spans_are_as_worked_out_by_hand() -> None:
    ids, ranges, _ = TOKENISERS["word"].encode_with_spans("The dog, 犬.")
    assert TOKENISERS["word"].tokens(ids)[:3] == ["▁The", "▁dog", ","]
    assert ranges[:3] == [(0, 1), (1, 2), (2, 3)]
    assert ranges[-1] == (4, 5)  # the full stop
    assert set(ranges[3:-1]) == {(3, 3), (3, 4)}  # bytes of the space, bytes of the character

    text, ranges = TOKENISERS["word"].decode_with_spans([BOS, *ids[:2], EOS])
    assert (text, ranges) == ("The dog", [(0, 0), (0, 1), (1, 2), (2, 2)])


def test_a_word_is_one_token_in_any_place() -> None:
    tokeniser = TOKENISERS["word"]
    (alone,) = tokeniser.encode("dog")
    assert alone in tokeniser.encode("The dog.")
    assert tokeniser.encode("") == []


def test_unknown_characters_are_lost_only_without_bytes() -> None:
    assert LOSSY["char"].decode(LOSSY["char"].encode("dog 犬")) == "dog ⁇"


def test_special_ids_and_hash_are_fixed() -> None:
    for kind, tokeniser in TOKENISERS.items():
        assert tokeniser.tokens([PAD, UNK, BOS, EOS]) == ["<pad>", "<unk>", "<s>", "</s>"]
        assert tokeniser.decode([BOS, PAD, EOS]) == ""
        assert Tokeniser.train(iter(LINES), kind=kind, size=380).hash == tokeniser.hash
    assert len({tokeniser.hash for tokeniser in TOKENISERS.values()}) == len(KINDS)


def test_a_policy_is_applied_and_saved() -> None:
    plain = TOKENISERS["unigram"]
    assert plain.normalise("Ｃafé") == "Ｃafé"
    folded = Tokeniser.train(LINES, size=380, normalise="nfkc", lower=True)
    assert folded.decode(folded.encode("Ｃafe\u0301 ①")) == "café 1"
    composed = Tokeniser.train(LINES, size=380, normalise="nfc")
    assert composed.decode(composed.encode("Ｃafe\u0301")) == "Ｃafé"
    assert plain.decode(plain.encode("two\nlines")) == "two lines"


def test_a_size_that_is_too_large_is_lowered_with_a_note() -> None:
    assert TOKENISERS["bpe"].note is None and len(TOKENISERS["bpe"]) == 380
    lowered = Tokeniser.train(LINES, size=9000)
    assert len(lowered) < 9000
    assert "9,000" in str(lowered.note) and f"{len(lowered):,}" in str(lowered.note)


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_names_the_smallest_size(kind: Kind) -> None:
    with pytest.raises(UserError, match=r"vocabulary of 50 is too small .* it needs (\d+)") as caught:
        Tokeniser.train(LINES, kind=kind, size=50)
    least = int(str(caught.value).split("it needs ")[1].split()[0])
    assert len(Tokeniser.train(LINES, kind=kind, size=least)) == least


def test_empty_lines_and_unknown_kinds_are_refused() -> None:
    with pytest.raises(UserError, match="every line is empty"):
        Tokeniser.train(["", "  "])
    with pytest.raises(ValueError, match="kind must be unigram, bpe, char or word, got 'unigramm'"):
        Tokeniser.train(LINES, kind=cast(Kind, "unigramm"))


def test_an_error_in_the_lines_is_raised_unchanged() -> None:
    def lines_until_a_mistake() -> Iterator[str]:
        yield from LINES
        raise UserError("pairs.tsv:31: no tab")

    with pytest.raises(UserError, match=r"pairs.tsv:31"):
        Tokeniser.train(lines_until_a_mistake())


def test_training_is_silent(capfd: pytest.CaptureFixture[str]) -> None:
    Tokeniser.train(LINES, size=5000)
    assert capfd.readouterr() == ("", "")


def test_a_saved_tokeniser_is_loaded(tmp_path: Path) -> None:
    for kind, tokeniser in TOKENISERS.items():
        tokeniser.save(tmp_path)
        loaded = Tokeniser.load(tmp_path)
        assert loaded.hash == tokeniser.hash and loaded.policy == tokeniser.policy
        assert loaded.encode(LINES[0]) == tokeniser.encode(LINES[0])
        assert json.loads((tmp_path / "tokeniser.json").read_text())["policy"]["kind"] == kind
    assert SentencePieceProcessor(model_file=str(tmp_path / "tokeniser.model")).get_piece_size() == len(loaded)


def test_a_damaged_tokeniser_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"tokeniser.json: not found"):
        Tokeniser.load(tmp_path)
    TOKENISERS["bpe"].save(tmp_path)
    model = tmp_path / "tokeniser.model"
    whole = model.read_bytes()
    for damaged in (whole[: len(whole) // 2], TOKENISERS["char"].model, b""):
        model.write_bytes(damaged)
        with pytest.raises(UserError, match="damaged"):
            Tokeniser.load(tmp_path)
    model.write_bytes(whole)
    about = json.loads((tmp_path / "tokeniser.json").read_text())
    (tmp_path / "tokeniser.json").write_text(json.dumps(about | {"format": 99}))
    with pytest.raises(UserError, match="format 99"):
        Tokeniser.load(tmp_path)


def test_another_process_trains_the_same_vocabulary_on_sampled_lines() -> None:
    program = (
        "from saccade.text import Tokeniser\n"
        "lines = [f'{i} {i * i % 97} words' for i in range(2000)]\n"
        "kinds = ('unigram', 'bpe', 'word')\n"
        "print([Tokeniser.train(lines, kind=kind, size=320, most_lines=100).hash for kind in kinds])"
    )
    seen = {subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout for _ in range(2)}
    assert len(seen) == 1


TAGGED = {kind: Tokeniser.train(LINES, kind=kind, size=390, tags=["<fr>", "2de"]) for kind in KINDS}


@settings(deadline=None, max_examples=50)
@given(kinds, st.sampled_from(["<fr> ", "2de ", "<fr>", "<fr>  ", "<fr> <fr> ", " <fr> ", ""]), lines)
def test_any_line_with_a_tag_is_encoded_without_loss(kind: Kind, before: str, line: str) -> None:
    tokeniser = TAGGED[kind]
    ids = tokeniser.encode(before + line)
    assert tokeniser.decode(ids) == before + line
    if before in ("<fr> ", "2de ", "<fr>  ", "<fr> <fr> ") and line:
        assert ids[0] == tokeniser.tags[before.split()[0]]


def test_a_tag_is_one_token_and_not_a_word() -> None:
    for kind, tokeniser in TAGGED.items():
        assert list(tokeniser.tags) == ["<fr>", "2de"]
        ids, ranges, text = tokeniser.encode_with_spans("<fr> The dog")
        assert ids == [tokeniser.tags["<fr>"], *tokeniser.encode("The dog")]
        assert text == "The dog" and ranges[0] == (0, 0) and ranges[1][0] == 0
        assert tokeniser.decode_with_spans(ids) == (text, ranges)
        assert tokeniser.tokens(ids)[0] == "<fr>"
        assert tokeniser.tags["<fr>"] not in tokeniser.encode("the tag <fr> in a text")
        assert tokeniser.split_tag("<fr> The dog") == ("<fr>", "The dog")
        if kind in ("unigram", "bpe"):
            drawn = tokeniser.sample("2de The dog", Random(1))
            assert drawn[0] == tokeniser.tags["2de"] and tokeniser.decode(drawn) == "2de The dog"


def test_a_tag_keeps_its_case() -> None:
    lower = Tokeniser.train(LINES, size=380, lower=True, tags=["<FR>"])
    assert lower.normalise("<FR> The DOG") == lower.decode(lower.encode("<FR> The DOG")) == "<FR> the dog"
    lossy = Tokeniser.train(LINES, kind="char", size=120, byte_fallback=False, tags=["<fr>"])
    ids, ranges, text = lossy.encode_with_spans("<fr> dog 犬犬")
    assert text == "dog 犬犬" and len(ids) == len(ranges)
