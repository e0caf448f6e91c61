"""From a recipe's files to encoded pairs: held-out pairs, borrowed vocabularies, the cache and the reports."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from saccade.data import Cleaning, Corpus, Stream, TextPair
from saccade.decode import save
from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.text import Policy, Vocabularies
from saccade.train import dataset as dataset_module
from saccade.train.data_options import Data, WeightedCorpus
from saccade.train.dataset import Dataset, load_dataset

SMALL = Policy(kind="bpe", size=330)


def write(path: Path, pairs: list[TextPair]) -> str:
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return str(path)


@pytest.fixture
def data(tmp_path: Path, pairs: list[TextPair]) -> Data:
    return Data(pairs=write(tmp_path / "pairs.tsv", pairs), vocabulary=SMALL)


def test_pairs_are_held_out_and_never_trained_on(data: Data, tmp_path: Path, pairs: list[TextPair]) -> None:
    dataset = load_dataset(replace(data, valid_share=0.3), tmp_path / "run", 1)
    assert len(dataset.valid) == 2 and len(dataset.corpus) == 6
    trained = {pairs[line - 1] for line in dataset.corpus.lines.tolist()}
    assert trained.isdisjoint(dataset.valid) and trained | set(dataset.valid) == set(pairs)


def test_validation_file_replaces_held_out_pairs(data: Data, tmp_path: Path, pairs: list[TextPair]) -> None:
    valid = write(tmp_path / "valid.tsv", [TextPair("a cat sleeps", "un chat dort"), TextPair("", "rien")])
    dataset = load_dataset(replace(data, valid=valid), tmp_path / "run", 1)
    assert [pair.source for pair in dataset.valid] == ["a cat sleeps"] and len(dataset.corpus) == len(pairs)
    assert "validation: kept 1 of 2 pairs; left out 1 with an empty side (line 2)" in dataset.notes


def test_validation_file_replaces_drawn_pairs(tmp_path: Path, pairs: list[TextPair]) -> None:
    task = Data(pairs="task:phrasebook-en-fr", count=60, words=(3, 5), vocabulary=SMALL)
    dataset = load_dataset(task, tmp_path / "drawn", 1)
    assert len(dataset.corpus) == 60 and len(dataset.valid) == 50
    trained = {tuple(dataset.corpus.source(i)) for i in range(60)}
    assert trained.isdisjoint(tuple(dataset.valid_corpus.source(i)) for i in range(50))
    from_file = load_dataset(replace(task, valid=write(tmp_path / "v.tsv", pairs)), tmp_path / "given", 1)
    assert list(from_file.valid) == pairs


def test_parallel_files_are_read_as_pairs(data: Data, tmp_path: Path, pairs: list[TextPair]) -> None:
    for name in ("source", "target"):
        lines = "".join(f"{getattr(pair, name)}\n" for pair in pairs)
        (tmp_path / f"{name}.txt").write_text(lines, encoding="utf-8")
    two_files = replace(data, pairs=str(tmp_path / "source.txt"), targets=str(tmp_path / "target.txt"))
    assert load_dataset(two_files, tmp_path / "two", 1).valid == load_dataset(data, tmp_path / "one", 1).valid


def test_left_out_pairs_are_reported(tmp_path: Path, pairs: list[TextPair]) -> None:
    odd = [TextPair("", "vide"), TextPair("long " * 90, "long"), TextPair(" ", "")]
    data_used = Data(pairs=write(tmp_path / "odd.tsv", [*pairs, *odd]), vocabulary=SMALL, longest=60)
    note = load_dataset(data_used, tmp_path / "run", 1).notes[0]
    assert note.startswith(f"{data_used.pairs}: kept 7 of 10 pairs")
    assert "1 longer than 60 tokens on a side (line 10)" in note and "2 with an empty side (lines 9, 11)" in note


def test_smaller_vocabulary_than_requested_is_reported(data: Data, tmp_path: Path) -> None:
    data_used = replace(data, vocabulary=Policy(kind="unigram", size=5000))
    assert any("5,000 requested" in note for note in load_dataset(data_used, tmp_path / "run", 1).notes)


def test_target_vocabulary_of_another_kind_is_separate(tmp_path: Path) -> None:
    spoken = [TextPair("cat", "K AE T"), TextPair("act", "AE K T"), TextPair("tack", "T AE K"), TextPair("at", "AE T")]
    characters, symbols = Policy(kind="char", size=300), Policy(kind="word", size=300)
    data = Data(pairs=write(tmp_path / "g2p.tsv", spoken), vocabulary=characters, target_vocabulary=symbols)
    assert not data.joint
    vocabularies = load_dataset(data, tmp_path / "run", 1).vocabularies
    assert (vocabularies.source.policy, vocabularies.target.policy) == (characters, symbols)
    with pytest.raises(ValueError, match=r"set target_vocabulary\.kind = 'unigram' or 'bpe'"):
        replace(data, vocabulary=Policy(), sampling=0.1)


def test_borrowed_vocabulary_of_two_sides_is_refused_with_both_directions(
    data: Data, tmp_path: Path, pairs: list[TextPair], untrained: Callable[..., Seq2Seq[Any, Any]]
) -> None:
    save(tmp_path / "other", untrained("cho2014"), Vocabularies.train(pairs, SMALL, joint=False))
    borrowing = replace(data, vocab_from=str(tmp_path / "other"), both_directions=1)
    with pytest.raises(UserError, match=r"has two vocabularies, but data\.both_directions needs a joint one"):
        load_dataset(borrowing, tmp_path / "run", 1)


def test_borrowed_vocabulary_is_saved_with_the_run(
    data: Data,
    tmp_path: Path,
    vocabularies: Vocabularies,
    untrained: Callable[..., Seq2Seq[Any, Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    save(tmp_path / "other", untrained("cho2014"), vocabularies)
    borrowing = replace(data, vocab_from=str(tmp_path / "other"))
    monkeypatch.setattr(Vocabularies, "train", None)
    assert load_dataset(borrowing, tmp_path / "run", 1).vocabularies.hash == vocabularies.hash
    (tmp_path / "other").rename(tmp_path / "gone")  # a resumed run does not need it
    assert load_dataset(borrowing, tmp_path / "run", 1).vocabularies.hash == vocabularies.hash
    with pytest.raises(UserError, match=r"data\.vocab_from: .*other is not a model folder"):
        load_dataset(borrowing, tmp_path / "new", 1)


def test_second_start_encodes_nothing_again(
    data: Data, tmp_path: Path, pairs: list[TextPair], monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded: list[int] = []
    encode = Corpus.encode.__func__  # type: ignore[attr-defined]

    def counting_encode(cls: type[Corpus], pairs: Any, *arguments: Any, **options: Any) -> Corpus:
        corpus: Corpus = encode(cls, pairs, *arguments, **options)
        encoded.append(len(corpus))
        return corpus

    monkeypatch.setattr(Corpus, "encode", classmethod(counting_encode))
    first = load_dataset(data, tmp_path / "run", 1)
    monkeypatch.setattr(Vocabularies, "train", None)  # neither is the vocabulary made again
    second = load_dataset(data, tmp_path / "run", 1)
    assert encoded == [7, 1, 1]  # the held-out pair alone, which is not cached
    assert second.corpus.source.ids.tolist() == first.corpus.source.ids.tolist()
    assert second.vocabularies.hash == first.vocabularies.hash

    write(tmp_path / "pairs.tsv", [*pairs, TextPair("the dog sleeps", "le chien dort")])
    assert len(load_dataset(data, tmp_path / "run", 1).corpus) + 1 == 9
    load_dataset(replace(data, longest=50), tmp_path / "run", 1)
    assert len(encoded) == 7


def test_validation_pairs_are_the_encoded_ones(data: Data, tmp_path: Path) -> None:
    odd = [TextPair("it " * 80, "long"), TextPair("it sleeps", "il dort")]
    data_used = replace(data, valid=write(tmp_path / "v.tsv", odd), longest=40)
    dataset = load_dataset(data_used, tmp_path / "run", 1)
    assert len(dataset.valid) == len(dataset.valid_corpus) == 1 and dataset.valid[0].target == "il dort"
    write(tmp_path / "v.tsv", odd[:1])
    with pytest.raises(UserError, match=r"^validation: no pair is left: .* left out 1 longer than 40 tokens"):
        load_dataset(data_used, tmp_path / "run", 1)


def test_longest_source_is_counted_in_words(tmp_path: Path) -> None:
    lines = ["a b c\tx", "extraordinarily\ty", "d e\tz", "f g h i j\tw", "k\tv"] * 3
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = Data(pairs=str(tmp_path / "pairs.tsv"), vocabulary=Policy(kind="char", size=400), valid_most=1)
    assert load_dataset(data, tmp_path / "run", seed=1).longest_source in (3, 5)  # the longest may be held out


def mixed_data(tmp_path: Path, pairs: list[TextPair], **settings: Any) -> Data:
    """English to French, and back, and a task."""
    path = write(tmp_path / "pairs.tsv", pairs)
    corpora = (
        WeightedCorpus(pairs=path, tag="<fr>"),
        WeightedCorpus(pairs=path, reverse=True, tag="<en>", weight=2.0),
        WeightedCorpus(pairs="task:phrasebook-en-de", tag="<de>", count=60, words=(3, 5)),
    )
    return Data(corpora=corpora, vocabulary=Policy(kind="bpe", size=360), valid_share=0.3, **settings)


def training_texts(dataset: Dataset, epoch: int = 1) -> list[TextPair]:
    """The pairs of one epoch, as text."""
    read = dataset.vocabularies
    return [
        TextPair(read.source.decode(source.tolist()), read.target.decode(target.tolist()))
        for number in range(dataset.corpus.windows)
        for window in [dataset.corpus.window(1, epoch, number)]
        for source, target in ((window.source(place), window.target(place)) for place in window.places.tolist())
    ]


@pytest.mark.parametrize("streaming", [False, True])
def test_corpora_are_mixed_in_several_directions(streaming: bool, tmp_path: Path, pairs: list[TextPair]) -> None:
    data = mixed_data(tmp_path, pairs, streaming=streaming, buffer=25)
    dataset = load_dataset(data, tmp_path / "run", 1)
    assert list(dataset.vocabularies.source.tags) == ["<fr>", "<en>", "<de>"]
    trained = training_texts(dataset)
    forwards = [pair for pair in trained if pair.source.startswith("<fr> ")]
    backwards = [pair for pair in trained if pair.source.startswith("<en> ")]
    assert len(set(forwards)) == len(forwards) and len(trained) == len(forwards) + len(backwards) + 60
    assert all(backwards.count(pair) == 2 for pair in backwards)
    assert {TextPair(f"<en> {p.target}", p.source[5:]) for p in forwards} == set(backwards), "held out alike"

    by_tag = [pair.source.split()[0] for pair in dataset.valid]
    assert {by_tag.count(tag) for tag in ("<fr>", "<en>")} == {2} and by_tag.count("<de>") == 50
    assert set(by_tag[:3]) == {"<fr>", "<en>", "<de>"}, "by turns"
    held_out = {text for pair in dataset.valid if pair.source[:4] != "<de>" for text in (pair.source[5:], pair.target)}
    assert held_out.isdisjoint(text for pair in trained for text in (pair.source[5:], pair.target))
    assert len(dataset.valid_corpus) == len(dataset.valid) == 54
    assert [note.partition(": kept")[0] for note in dataset.notes][:3] == [
        f"{tmp_path / 'pairs.tsv'}, tagged <fr>",
        f"{tmp_path / 'pairs.tsv'}, reversed, tagged <en>, 2 times",
        "task:phrasebook-en-de, tagged <de>",
    ]
    reloaded = load_dataset(data, tmp_path / "run", 1)
    assert (
        sorted(training_texts(reloaded)) == sorted(trained)
        and reloaded.valid == dataset.valid
        and reloaded.digest == dataset.digest
    )


def test_validation_files_of_several_corpora_are_used(tmp_path: Path, pairs: list[TextPair]) -> None:
    valid = write(tmp_path / "valid.tsv", [TextPair("a dog", "un chien")])
    data = mixed_data(tmp_path, pairs)
    corpora = tuple(replace(corpus, valid=valid) for corpus in data.corpora[:2])
    dataset = load_dataset(replace(data, corpora=corpora), tmp_path / "own", 1)
    assert list(dataset.valid) == [TextPair("<fr> a dog", "un chien"), TextPair("<en> un chien", "a dog")]
    assert len(training_texts(dataset)) == 24, "none is held out"
    tagged = write(tmp_path / "tagged.tsv", [TextPair("<de> a dog", "ein Hund")])
    whole = load_dataset(replace(data, valid=tagged), tmp_path / "whole", 1)
    assert list(whole.valid) == [TextPair("<de> a dog", "ein Hund")] and len(training_texts(whole)) == 24 + 60


@pytest.mark.parametrize("streaming", [False, True])
def test_cleaned_pairs_are_reported(streaming: bool, tmp_path: Path, pairs: list[TextPair]) -> None:
    odd = [pairs[0], TextPair("OK", "OK"), TextPair("long " * 90, "long"), TextPair("", "x")]
    data_used = Data(
        pairs=write(tmp_path / "odd.tsv", [*pairs, *odd]),
        valid=write(tmp_path / "valid.tsv", pairs[:2]),
        clean=Cleaning(duplicates=True, identical=True),
        vocabulary=SMALL,
        longest=60,
        streaming=streaming,
    )
    note = load_dataset(data_used, tmp_path / "run", 1).notes[0]
    assert note == (
        f"{data_used.pairs}: kept 8 of 12 pairs; left out 1 with an empty side (line 12); "
        "left out 1 with two identical sides (line 10); left out 1 repeated (line 9); "
        "left out 1 longer than 60 tokens on a side (line 11)"
    )


def test_stream_has_the_pairs_of_the_corpus(data: Data, tmp_path: Path) -> None:
    whole = load_dataset(data, tmp_path / "whole", 1)
    stream = load_dataset(replace(data, streaming=True, buffer=3), tmp_path / "stream", 1)
    assert isinstance(stream.corpus, Stream) and stream.corpus.windows == 3
    assert sorted(training_texts(stream)) == sorted(training_texts(whole)) and stream.valid == whole.valid
    assert stream.longest_source == whole.longest_source and stream.digest == whole.digest
    assert "streamed: 3 windows of 3 pairs per epoch" in stream.notes
    assert all(most >= least for most, least in zip(stream.corpus.longest_sides, whole.corpus.longest_sides))
    assert max(stream.corpus.longest_sides) < 256 and 0 < stream.corpus.tokens < 3 * whole.corpus.tokens


def test_large_files_are_streamed_by_default(data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_module, "_LARGE", 100)
    assert isinstance(load_dataset(data, tmp_path / "auto", 1).corpus, Stream)
    assert isinstance(load_dataset(replace(data, streaming=False), tmp_path / "not", 1).corpus, Corpus)


def test_subword_sampling_streams(data: Data, tmp_path: Path, pairs: list[TextPair]) -> None:
    dataset = load_dataset(replace(data, sampling=0.3), tmp_path / "run", 1)
    assert isinstance(dataset.corpus, Stream)
    first, second = (dataset.corpus.window(1, epoch, 0) for epoch in (1, 2))
    assert first.source.lengths.tolist() != second.source.lengths.tolist()
    assert sorted(training_texts(dataset, 1)) == sorted(training_texts(dataset, 2))
    assert set(training_texts(dataset)) < set(pairs)


def test_placeholders_are_trained_on_and_saved(tmp_path: Path) -> None:
    linked = [TextPair(f"see https://x.org/{n} now", f"voir https://x.org/{n}") for n in range(20)]
    data = Data(pairs=write(tmp_path / "p.tsv", linked), vocabulary=SMALL, placeholders=("url",))
    dataset = load_dataset(data, tmp_path / "run", 1)
    assert all("http" not in text for pair in training_texts(dataset) for text in pair)
    assert dataset.vocabularies.mask("at https://y.org").shown is not None
    assert Vocabularies.load(tmp_path / "run" / "vocabulary").placeholders == dataset.vocabularies.placeholders
    assert all("https" in pair.target for pair in dataset.valid), "the texts as they were written"


def test_borrowed_vocabulary_must_have_the_tags_and_placeholders(
    data: Data, tmp_path: Path, vocabularies: Vocabularies, pairs: list[TextPair]
) -> None:
    (tmp_path / "other").mkdir()
    vocabularies.save(tmp_path / "other")
    borrowing = replace(mixed_data(tmp_path, pairs), vocab_from=str(tmp_path / "other"))
    with pytest.raises(UserError, match=r"other has no tag <fr>; its tags: none"):
        load_dataset(borrowing, tmp_path / "run", 1)
    with pytest.raises(UserError, match=r"other has other placeholders: none"):
        load_dataset(replace(data, placeholders=("url",), vocab_from=str(tmp_path / "other")), tmp_path / "another", 1)


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_jsonl_and_csv_are_read(kind: str, data: Data, tmp_path: Path, pairs: list[TextPair]) -> None:
    path = tmp_path / f"pairs.{kind}"
    if kind == "jsonl":
        lines = [json.dumps({"en": pair.source, "x": {"fr": pair.target}}) for pair in pairs]
        fields = ("en", "x.fr")
    else:
        lines, fields = ["fr,en", *(f"{pair.target},{pair.source}" for pair in pairs)], ("en", "fr")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    data_used = replace(data, pairs=str(path), fields=fields, valid=write(tmp_path / "valid.tsv", pairs[:1]))
    dataset = load_dataset(data_used, tmp_path / "run", 1)
    assert sorted(training_texts(dataset)) == sorted(pairs) and list(dataset.valid) == pairs[:1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pairs": "a.tsv", "corpora": (WeightedCorpus(pairs="b.tsv"),)}, "^corpora have pairs of their own"),
        ({"corpora": (WeightedCorpus(pairs="-"),)}, "^corpora cannot be read from standard input"),
        ({"pairs": "a.tsv", "sampling": 1.5}, "sampling must be at least 0 and below 1"),
        (
            {"pairs": "a.tsv", "sampling": 0.1, "vocabulary": Policy(kind="char")},
            "set vocabulary.kind = .unigram. or .bpe.",
        ),
        ({"pairs": "a.tsv", "buffer": 0}, "buffer must be from 1"),
        ({"pairs": "a.tsv", "alignments": "a", "placeholders": ("url",)}, "alignments need one corpus in memory"),
    ],
)
def test_conflicting_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Data(**settings)


@pytest.mark.parametrize(
    ("settings", "message"), [({"tag": "a b"}, "tag must be one word"), ({"weight": 0.0}, "weight must be")]
)
def test_wrong_corpus_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        WeightedCorpus(pairs="a.tsv", **settings)


def test_damaged_drawn_file_is_drawn_again(tmp_path: Path) -> None:
    data = Data(pairs="task:phrasebook-en-fr", count=60, words=(3, 5), vocabulary=SMALL)
    first = load_dataset(data, tmp_path / "run", 1)
    (drawn_file,) = (tmp_path / "run" / "cache").rglob("*.tsv")
    whole = drawn_file.read_bytes()
    drawn_file.write_bytes(whole[: len(whole) // 2])
    second = load_dataset(data, tmp_path / "run", 1)
    assert (
        drawn_file.read_bytes() == whole and second.digest == first.digest and len(second.corpus) == len(first.corpus)
    )
