"""The dataset of a run: from the files or tasks of a recipe to vocabularies and encoded pairs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain, islice, zip_longest
from pathlib import Path

from saccade import files
from saccade.data import (
    Cleaning,
    Corpus,
    ListedPairs,
    Mixture,
    PairSource,
    Selection,
    Split,
    Stream,
    TextPair,
    add_tag,
    cache_key,
    load_or_build,
)
from saccade.data.cache import TaskPairs
from saccade.data.selection import SelectedPairs, Survey
from saccade.data.texts import ListedTexts, WindowForm
from saccade.decode import load_vocabularies
from saccade.errors import UserError
from saccade.text import Placeholders, Vocabularies, words
from saccade.text.tokeniser import MOST_LINES
from saccade.train.data_options import Data, WeightedCorpus

_LARGE = 1 << 30  # bytes; larger corpora are streamed by default
_VOCABULARY_LINES = 100_000  # of a stream: sentencepiece needs a kilobyte of memory per line
FIRST_PAIRS = 20_000  # to estimate lengths
_SAMPLE = 1_000  # pairs, to see whether a borrowed vocabulary knows their tokens


@dataclass(frozen=True, kw_only=True)
class Dataset:
    vocabularies: Vocabularies
    corpus: Corpus | Mixture | Stream  # for batches …
    form: WindowForm | None  # … and what they make of it, if it has texts
    valid: Sequence[TextPair]
    valid_corpus: Corpus
    longest_source: int  # words of the longest training source
    digest: str  # of the training pairs
    notes: Sequence[str]  # for the log: what was left out, and why


def load_dataset(data: Data, folder: Path, seed: int) -> Dataset:
    """Read, select and hold out pairs, train or borrow the vocabulary, and encode; cached in `folder`/cache."""
    cache_folder, entries = folder / "cache", data.all_corpora
    sources = [_open(entry, data, cache_folder) for entry in entries]
    streams = _is_streamed(data, sources)
    if not streams:
        sources = [source.in_memory() for source in sources]
    choice = _Choice(data, sources, seed, streams)
    if streams and not (folder / "vocabulary").exists():
        sources = [survey.selection.pairs for survey in choice.surveys]  # whose digests are known, too
    digest = cache_key(*(source.digest() for source in sources))
    key = cache_key(digest, *choice.settings)

    def load_selections(kind: str, build: Callable[[int], Selection]) -> list[Selection]:
        load = [partial(Selection.load, pairs=source, cleaning=data.clean) for source in sources]
        return [
            load_or_build(cache_folder, f"{key}-{kind}-{place}", partial(build, place), load[place])
            for place in range(len(sources))
        ]

    selections = [] if streams else load_selections("chosen", choice.hold_out)
    vocabularies = _vocabularies(data, choice if streams else SelectedPairs(selections), folder, streams)
    key = cache_key(key, vocabularies.hash, data.most_tokens)
    tags, weights = [entry.tag for entry in entries], [entry.weight for entry in entries]
    corpus: Corpus | Mixture | Stream
    if streams:
        selections = load_selections("stream", partial(choice.drop_long, vocabularies))
        corpus = Stream(
            selections, vocabularies, weights=weights, tags=tags, buffer=data.buffer, sampling=data.sampling
        )
        reports = [selection.report() for selection in selections]
        longest = max(selection.longest_source for selection in selections)
    else:
        corpora = [
            load_or_build(
                cache_folder,
                f"{key}-{place}",
                partial(Corpus.encode, selection, vocabularies, longest=data.most_tokens, tag=tag),
                Corpus.load,
            )
            for place, (selection, tag) in enumerate(zip(selections, tags, strict=True))
        ]
        corpus = corpora[0] if weights == [1.0] else Mixture(corpora, weights)
        reports = [corpus.report for corpus in corpora]
        longest = max(_longest_source(corpus, vocabularies) for corpus in corpora)
    valid, valid_corpus = _valid(data, selections, vocabularies)
    notes = [f"{entry}: {report}" for entry, report in zip(entries, reports, strict=True)]
    if isinstance(corpus, Stream):
        notes.append(f"streamed: {corpus.windows:,} windows of {data.buffer:,} pairs per epoch")
    notes.append(f"validation: {valid_corpus.report}")
    notes += dict.fromkeys(side.note for side in (vocabularies.source, vocabularies.target) if side.note)
    notes += _warnings(data, vocabularies, selections)
    _survey.cache_clear()
    return Dataset(
        vocabularies=vocabularies,
        corpus=corpus,
        form=data.form,
        valid=valid,
        valid_corpus=valid_corpus,
        longest_source=longest,
        digest=digest,
        notes=notes,
    )


def _open(entry: WeightedCorpus, data: Data, cache_folder: Path) -> PairSource:
    """A task is drawn into a file once, and then read like any other file."""
    if entry.task is None:
        return entry.open(data.form)
    count = entry.count or data.count
    drawn = TaskPairs(draw=partial(entry.drawn, "train", count, data.words))
    key = cache_key(entry.task, count, repr(entry.words or data.words))[:16]
    return load_or_build(cache_folder, f"{key}-drawn", lambda: drawn, drawn.load).open(reverse=entry.reverse)


def _is_streamed(data: Data, sources: Sequence[PairSource]) -> bool:
    return data.streams or (data.streaming == "auto" and sum(source.size() for source in sources) > _LARGE)


def read_first_pairs(data: Data, seed: int) -> tuple[Iterable[TextPair], int | None]:
    """The pairs of the first corpus; of a stream, the first pairs and the number of all. The run of the same seed does
    not read the stream again for what was found here."""
    source = data.all_corpora[0].open(data.form)
    if not _is_streamed(data, [source]):
        return source, None
    survey = _Choice(data, [source], seed, streams=True).surveys[0]
    return survey.first, len(survey.selection)


@lru_cache(8)
def _survey(source: PairSource, version: object, cleaning: Cleaning, seed: int, most: int, sample: int) -> Survey:
    """Read a stream once for the automatic recipe and for the run, unless its files change in between."""
    return Survey(source, cleaning, seed=seed, most=most, sample=sample, first=FIRST_PAIRS)


class _Choice:
    """Which pairs are trained on and which are held out. The corpora are read only if the cache does not have it."""

    def __init__(self, data: Data, sources: Sequence[PairSource], seed: int, streams: bool) -> None:
        self._data, self._sources, self._seed, entries = data, sources, seed, data.all_corpora
        self._sample = (data.vocab_lines or _VOCABULARY_LINES) if streams else 0
        self._holds_out = [data.valid is None and entry.valid is None and entry.task is None for entry in entries]
        shape = (repr(data.clean), repr(self._holds_out), repr([entry.reverse for entry in entries]))
        self.settings = (seed, data.valid_share, data.valid_most, *shape, data.contents, data.block)

    @cached_property
    def surveys(self) -> list[Survey]:
        make = _survey if self._sample else _survey.__wrapped__
        return [
            make(source, source.version(), self._data.clean, self._seed, most * self._data.valid_most, self._sample)
            for source, most in zip(self._sources, self._holds_out, strict=False)
        ]

    @cached_property
    def _splits(self) -> tuple[list[Split], frozenset[int]]:
        """The split of each corpus, and what is held out elsewhere, if there are several corpora."""
        share, most = self._data.valid_share, -(-self._data.valid_most // max(1, sum(self._holds_out)))
        splits = [
            survey.split(share=share, most=most) if is_split else Split(self._seed, frozenset())
            for survey, is_split in zip(self.surveys, self._holds_out, strict=True)
        ]
        return splits, frozenset(chain.from_iterable(split.held_out for split in splits if len(splits) > 1))

    def __iter__(self) -> Iterator[TextPair]:
        """A sample of the pairs to train on, with the same share of every corpus."""
        splits, elsewhere = self._splits
        share = min(1.0, self._sample / max(1, sum(survey.drawn.count for survey in self.surveys)))
        for survey, split in zip(self.surveys, splits, strict=True):
            yield from survey.sample(share, split, elsewhere)

    def hold_out(self, place: int) -> Selection:
        selection, (splits, elsewhere) = self.surveys[place].selection, self._splits
        return selection.hold_out(splits[place], elsewhere) if any(self._holds_out) else selection

    def drop_long(self, vocabularies: Vocabularies, place: int) -> Selection:
        selection, (splits, elsewhere) = self.surveys[place].selection, self._splits
        tag, longest = self._data.all_corpora[place].tag, self._data.most_tokens
        return selection.drop_long(vocabularies, longest, tag, split=splits[place], elsewhere=elsewhere)


def _valid(
    data: Data, selections: Sequence[Selection], vocabularies: Vocabularies
) -> tuple[Sequence[TextPair], Corpus]:
    """The validation pairs: held out, drawn, or from a file; several corpora take turns."""
    entries, listed = data.all_corpora, ListedPairs if data.form is None else ListedTexts
    source = entries[0].open_valid(data.form) if not data.corpora else None
    if data.corpora and data.valid is not None:
        source = WeightedCorpus(pairs=data.valid, targets=data.valid_targets).open(data.form)  # with their tags
    if source is None:
        of_corpora = [
            [add_tag(pair, entry.tag) for pair in _valid_of(entry, data, selection)]
            for entry, selection in zip(entries, selections, strict=True)
        ]
        source = listed([pair for turn in zip_longest(*of_corpora) for pair in turn if pair is not None])
    selection = Selection.of(source.in_memory())
    try:
        corpus = Corpus.encode(selection, vocabularies, longest=data.most_tokens)
    except UserError as error:
        raise UserError(f"validation: {error}") from None
    by_line = dict(selection.selected())
    return [by_line[line] for line in corpus.lines.tolist()], corpus


def _valid_of(entry: WeightedCorpus, data: Data, selection: Selection) -> PairSource:
    if (source := entry.open_valid(data.form)) is not None:
        return source
    if entry.task is None:
        return ListedPairs(selection.held_out)
    count = min(data.valid_most, max(50, (entry.count or data.count) // 20))
    return TaskPairs(draw=partial(entry.drawn, "valid", count, data.words)).open(reverse=entry.reverse)


def _longest_source(corpus: Corpus, vocabularies: Vocabularies) -> int:
    """In words, among the 100 sources with most tokens: a large corpus costs no more than a small one."""
    longest_sides = corpus.source.lengths.argsort()[-100:].tolist()
    return max(len(words(vocabularies.source.decode(corpus.source(i).tolist()))) for i in longest_sides)


def _vocabularies(data: Data, pairs: Iterable[TextPair], folder: Path, streams: bool) -> Vocabularies:
    """The run's vocabulary if it has one; else another model's, or one trained on the pairs; saved with the run."""
    place = folder / "vocabulary"
    files.recover(place)
    if any(place.glob("*.model")):
        return Vocabularies.load(place)
    most_lines = data.vocab_lines or (_VOCABULARY_LINES if streams else MOST_LINES)
    if data.vocab_from is not None:
        vocabularies = _borrow(data, Path(data.vocab_from))
    elif data.contents == "text":
        vocabularies = Vocabularies.train_on_texts(
            (pair.target for pair in pairs), data.vocabulary, most_lines=most_lines
        )
    else:
        vocabularies = Vocabularies.train(
            pairs,
            data.vocabulary,
            data.target_vocabulary,
            joint=data.joint,
            tags=data.tags,
            placeholders=Placeholders(data.placeholders) if data.placeholders else None,
            most_lines=most_lines,
        )
    vocabularies = vocabularies.towards(right_to_left=data.right_to_left)
    with files.atomic_folder(place) as new:
        vocabularies.save(new)
    return vocabularies


def _warnings(data: Data, vocabularies: Vocabularies, selections: Sequence[Selection]) -> list[str]:
    """A warning for each side of which a borrowed vocabulary knows less than half of the tokens."""
    if data.vocab_from is None:
        return []
    pairs = list(islice(SelectedPairs(selections), _SAMPLE))
    shares = {
        "sources": vocabularies.source.unknown_share(pair.source for pair in pairs),
        "targets": vocabularies.target.unknown_share(pair.target for pair in pairs),
    }
    return [
        f"warning: the vocabulary of {data.vocab_from} does not know {unknown:.0%} of the tokens of these {side}; is "
        "it for another language? Without --init-from and --vocab-from, one is trained on these pairs"
        for side, unknown in shares.items()
        if unknown is not None and unknown > 0.5
    ]


def _borrow(data: Data, place: Path) -> Vocabularies:
    if not place.is_dir():
        raise UserError(f"data.vocab_from: {place} is not a model folder")
    vocabularies = load_vocabularies(place)
    for tag in data.tags:
        if tag not in vocabularies.source.tags:
            names = ", ".join(vocabularies.source.tags) or "none"
            raise UserError(f"data.vocab_from: the vocabulary of {place} has no tag {tag}; its tags: {names}")
    if data.noise is not None and not (vocabularies.joint and vocabularies.target.policy.byte_fallback):
        raise UserError(
            f"data.vocab_from: the vocabulary of {place} has two sides or unknown words; pre-training needs a joint "
            "one that spells unknown characters in bytes: leave vocab_from out"
        )
    if data.both_directions and not vocabularies.joint:
        raise UserError(f"data.vocab_from: {place} has two vocabularies, but data.both_directions needs a joint one")
    kinds = vocabularies.placeholders.kinds if vocabularies.placeholders is not None else ()
    if data.placeholders and kinds != data.placeholders:
        names = ", ".join(kinds) or "none"
        raise UserError(f"data.vocab_from: the vocabulary of {place} has other placeholders: {names}")
    return vocabularies
