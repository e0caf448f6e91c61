"""The labelled texts of a run: read, checked, held out, and encoded."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade import tasks
from saccade.data import Fields, ListedPairs, PairSource, Selection, Split, TextPair, open_pairs
from saccade.data.cleaning import CleaningReport
from saccade.data.corpus import Corpus, PairCollector
from saccade.data.formats import PairFiles, has_named_fields
from saccade.data.sources import hash_pairs
from saccade.data.text_files import is_read_once, load_file
from saccade.errors import UserError, plural
from saccade.labels.conll import ConllFiles, is_conll
from saccade.labels.label_ids import TextEncoder
from saccade.labels.settings import LabelData
from saccade.names import hub_name, task_name
from saccade.text import Tokeniser
from saccade.train.request import LabelKind

_MOST_LABELS = 1_000
_ENOUGH_TO_TELL = 20  # texts, of which most must not have a label of their own
_NAMED = 5  # labels in a message
_FROM_TASK = 500  # texts to validate or evaluate on


@dataclass(frozen=True, kw_only=True)
class LabelDataset:
    encoder: TextEncoder
    labels: tuple[str, ...]  # by frequency
    train: Corpus
    valid: Corpus
    valid_pairs: Sequence[TextPair]
    train_digest: str
    valid_digest: str
    notes: Sequence[str]


@dataclass(frozen=True)
class LabelledFiles(PairFiles):
    unit: ClassVar[str] = "text"
    _contents: ClassVar[str] = "a text, a tab and its label per line"


class LabelledList(ListedPairs):
    unit = "text"


@dataclass(frozen=True, kw_only=True)
class Examples:
    """Labelled texts: pairs of a text and its label, or of words and their tags, separated by spaces."""

    name: str
    pairs: Sequence[TextPair]
    report: CleaningReport


def read_examples(
    kind: LabelKind,
    pairs: str,
    targets: str | None = None,
    fields: Fields | None = None,
    *,
    split: str = "test",
    count: int = _FROM_TASK,
) -> Examples:
    """Read CoNLL files, for a tagger, or any form of pairs; `split` and `count` choose texts of a task."""
    if (task := task_name(pairs)) is not None:
        drawn = tasks.task(task).pairs(count, seed=1, split=split)
        source: PairSource = LabelledList([TextPair(pair.source, pair.target) for pair in drawn])
    else:
        source = _open(kind, pairs, targets, fields).rereadable()
    selection = Selection.of(source)
    checked = [_checked(kind, pair, f"{source}:{line}") for line, pair in selection.selected()]
    if not checked:
        raise UserError(f"{source}: no labelled text; expected a text, a tab and {_NEEDS[kind]}")
    return Examples(name=pairs, pairs=checked, report=selection.report())


_NEEDS = {"classify": "its label per line", "tag": "one tag per word, or CoNLL files"}


def _open(kind: LabelKind, pairs: str, targets: str | None, fields: Fields | None) -> PairSource:
    if kind == "tag" and not (has_named_fields(pairs) or hub_name(pairs) or targets or fields):
        file = load_file(pairs) if is_read_once(pairs) else pairs
        return ConllFiles(file) if is_conll(file) else LabelledFiles(file)
    return open_pairs(pairs, targets, fields=fields) if hub_name(pairs) else LabelledFiles(pairs, targets, fields)


def _checked(kind: LabelKind, pair: TextPair, place: str) -> TextPair:
    if kind == "classify":
        return TextPair(pair.source, pair.target.strip())
    words, tags = pair.source.split(), pair.target.split()
    if len(words) != len(tags):
        raise UserError(
            f"{place}: {plural(len(words), 'word')} and {plural(len(tags), 'tag')}; expected one tag per word, and "
            "words separated by spaces"
        )
    return TextPair(" ".join(words), " ".join(tags))


def labels_of(kind: LabelKind, pair: TextPair) -> list[str]:
    return [pair.target] if kind == "classify" else pair.target.split()


def load_dataset(data: LabelData, seed: int) -> LabelDataset:
    """The same data and seed give the same dataset."""
    examples, valid = split_examples(data, seed)
    labels = _list_labels(data.kind, examples)
    tokeniser = Tokeniser.train((pair.source for pair in examples.pairs), **vars(data.vocabulary))
    encoder = TextEncoder(data.kind, tokeniser, labels)
    sides = [_encode(encoder, part.pairs, data.longest) for part in (examples, valid)]
    notes = [f"{examples.name}: {examples.report}; {_count(data.kind, labels)}"]
    notes.append(f"validation: {plural(len(valid.pairs), 'text')}")
    if (cut := sum(part.cut for part in sides)) > 0:
        notes.append(f"{plural(cut, 'text')} of more than {data.longest} tokens: the rest is not read")
    notes += [
        note for note in (tokeniser.note, _find_unknown(data.kind, valid, labels), _find_seen(examples, valid)) if note
    ]
    return LabelDataset(
        encoder=encoder,
        labels=labels,
        train=sides[0].corpus,
        valid=sides[1].corpus,
        valid_pairs=valid.pairs,
        train_digest=hash_pairs(examples.pairs),
        valid_digest=hash_pairs(valid.pairs),
        notes=notes,
    )


def split_examples(data: LabelData, seed: int) -> tuple[Examples, Examples]:
    """The texts to train on and those to validate on: another file, a task's, or some that are held out."""
    examples = read_examples(data.kind, data.pairs, data.targets, data.fields, split="train", count=data.count)
    if data.valid is not None:
        fields = data.fields if has_named_fields(data.valid) == has_named_fields(data.pairs) else None
        return examples, read_examples(data.kind, data.valid, fields=fields, split="valid")
    if task_name(data.pairs) is not None:
        return examples, read_examples(data.kind, data.pairs, split="valid")
    share, most = data.valid_share, data.valid_most
    split = Split.of(examples.pairs, seed=seed, share=share, most=most, name=data.pairs, unit="text")
    parts: list[list[TextPair]] = [[], []]
    for pair in examples.pairs:
        parts[pair in split].append(pair)
    train, valid = (Examples(name=data.pairs, pairs=part, report=examples.report) for part in parts)
    return train, valid


def _list_labels(kind: LabelKind, examples: Examples) -> tuple[str, ...]:
    counts = Counter(label for pair in examples.pairs for label in labels_of(kind, pair))
    labels = sorted(counts, key=lambda label: (-counts[label], label))
    if len(labels) < 2:
        raise UserError(f"{examples.name}: every label is {labels[0]!r}; expected at least 2 that differ")
    if len(labels) > min(_MOST_LABELS, max(_ENOUGH_TO_TELL, counts.total() // 2)):
        raise UserError(
            f"{examples.name}: {len(labels):,} different labels of {counts.total():,}, such as {labels[0][:40]!r}; "
            "expected few labels that occur often: is the label in the second column?"
        )
    return tuple(labels)


def _count(kind: LabelKind, labels: Sequence[str]) -> str:
    named = ", ".join(labels[:_NAMED]) + (", …" if len(labels) > _NAMED else "")
    return f"{plural(len(labels), 'label' if kind == 'classify' else 'tag')}: {named}"


@dataclass(frozen=True)
class _Encoded:
    corpus: Corpus
    cut: int  # texts whose end is not read


def _encode(encoder: TextEncoder, pairs: Sequence[TextPair], longest: int) -> _Encoded:
    collector, cut = PairCollector(), 0
    for place, pair in enumerate(pairs):
        ids, numbers = encoder.encode_pair(pair, longest + 1)
        cut += len(ids) > longest
        collector.add(place, (ids[:longest], numbers[:longest]))
    return _Encoded(Corpus(*collector.build(), CleaningReport(kept=len(pairs), unit="text")), cut)


def _find_unknown(kind: LabelKind, valid: Examples, labels: Iterable[str]) -> str | None:
    known = set(labels)
    unknown = dict.fromkeys(label for pair in valid.pairs for label in labels_of(kind, pair) if label not in known)
    if not unknown:
        return None
    return f"warning: no training text has {', '.join([*unknown][:_NAMED])}, which the validation has: counted as wrong"


def _find_seen(examples: Examples, valid: Examples) -> str | None:
    texts = {pair.source for pair in examples.pairs}
    seen = sum(pair.source in texts for pair in valid.pairs)
    return f"warning: {plural(seen, 'validation text')} also among the training texts" if seen else None
