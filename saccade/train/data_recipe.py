"""The `[data]` table of a recipe: which pairs, which of them, and in what pieces."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from saccade import tasks
from saccade.data import Cleaning, Fields, PairFiles, PairSource, open_pairs
from saccade.data.formats import has_named_fields
from saccade.errors import UserError
from saccade.locations import hub_name, is_stdin, task_name
from saccade.ranges import BetweenZeroAndOne, Checked, Count, CountOrZero, Length, Range, Share
from saccade.text import Placeholders, Policy


@dataclass(frozen=True, kw_only=True)
class Ingredient(Checked):
    """One corpus of several."""

    pairs: str  # as data.pairs
    targets: str | None = None
    fields: Fields | None = None
    reverse: bool = False  # from target to source
    tag: str | None = None  # before every source, such as "<fr>": tells the model what is asked of it
    weight: Annotated[float, Range(above=0, most=1_000_000)] = 1.0  # passes over this corpus in an epoch
    valid: str | None = None  # validation pairs, tagged and reversed likewise; none: some of the pairs are held out
    valid_targets: str | None = None
    count: Count | None = None  # of a task; none: data.count
    words: tuple[Length, Length] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tag is not None and (not self.tag or self.tag.split() != [self.tag] or "▁" in self.tag):
            raise ValueError(f"a tag is one word, such as <fr>, got {self.tag!r}")

    def __str__(self) -> str:
        said = [self.pairs, "reversed" if self.reverse else "", f"tagged {self.tag}" if self.tag else ""]
        return ", ".join(part for part in (*said, f"{self.weight:g} times" if self.weight != 1 else "") if part)

    @property
    def task(self) -> str | None:
        return task_name(self.pairs)

    def drawn(self, split: str, count: int, words: tuple[int, int] | None) -> Iterator[tasks.Pair]:
        """Pairs of a built-in task, the same ones at every call."""
        assert self.task is not None
        entry = tasks.find_task(self.task)
        return entry.make().pairs(count, seed=1, split=split, words=self.words or words or entry.words)

    def open(self) -> PairSource:
        return open_pairs(self.pairs, self.targets, fields=self.fields, reverse=self.reverse)

    def open_valid(self) -> PairSource | None:
        if self.valid is None:
            return None
        alike = _has_names(self.valid) or not _has_names(self.pairs)  # a plain TSV may go with pairs in any form
        fields = self.fields if alike and self.valid_targets is None else None
        return open_pairs(self.valid, self.valid_targets, fields=fields, reverse=self.reverse)

    def copied_to(self, folder: Path) -> "Ingredient":
        """With what can be read only once copied into `folder`."""
        if self.task is not None or hub_name(self.pairs) is not None:
            return self
        kept = PairFiles(self.pairs, self.targets).buffered_in(folder)
        return replace(self, pairs=str(kept.source), targets=None if kept.target is None else str(kept.target))


@dataclass(frozen=True, kw_only=True)
class Data(Checked):
    pairs: str = ""  # a file (TSV, JSONL, CSV), one of two parallel ones, "-" for standard input, task:NAME or hf:NAME
    targets: str | None = None  # the target side of two parallel files
    fields: Fields | None = None  # of JSONL, CSV or hf:, where they are not "source" and "target"; or column numbers
    corpora: tuple[Ingredient, ...] = ()  # in place of data.pairs: several, mixed
    valid: str | None = None  # validation pairs; none: some of the training pairs are held out
    valid_targets: str | None = None
    valid_share: BetweenZeroAndOne = 0.05
    valid_most: Count = 2000
    count: Count = 100_000  # pairs drawn of a task
    words: tuple[Length, Length] | None = None  # lengths of a task's sources; none: those usual for it
    clean: Cleaning = field(default_factory=Cleaning)
    longest: Length = 256  # pieces on a side; longer pairs are left out and reported
    vocabulary: Policy = field(default_factory=Policy)
    target_vocabulary: Policy | None = None  # of the target side, where it is another kind; then joint is false
    joint: bool = True  # one vocabulary for both sides
    right_to_left: bool = False  # targets are read and written from their end; what a user sees is as ever
    vocab_from: str | None = None  # a model folder whose vocabulary to use
    vocab_lines: Count | None = None  # texts drawn to make a vocabulary; none: a million, or 100,000 when streaming
    placeholders: tuple[str, ...] = ()  # kept intact: "markup", "url", "email", "number", or regular expressions
    sampling: Share = 0.0  # subword sampling: unigram's smoothing, or BPE's dropout, such as 0.1; 0: none
    streaming: bool | Literal["auto"] = "auto"  # read pairs as they are needed; auto: of more than a gigabyte
    buffer: Count = 50_000  # pairs that are shuffled together when streaming
    processes: CountOrZero | Literal["auto"] = "auto"  # that read and cut pairs ahead when streaming; auto: at most 8
    alignments: str | None = None  # links i-j between words, a line a pair, for train.guided; or "task"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.corpora and (self.pairs or self.targets or self.fields):
            raise ValueError("give pairs, or corpora with pairs of their own, not both")
        if any(is_stdin(one.pairs) or is_stdin(one.targets) for one in self.corpora):
            raise ValueError("of several corpora none can be read from standard input; put it in a file")
        if self.target_vocabulary is not None:
            object.__setattr__(self, "joint", False)
        for key in ("vocabulary", "target_vocabulary"):
            policy = getattr(self, key)
            if self.sampling and policy is not None and policy.kind in ("char", "word"):
                raise ValueError(
                    f"sampling needs pieces that a word can be cut into, got {self.sampling} with a vocabulary of kind "
                    f"{policy.kind!r}: set {key}.kind = 'unigram' or 'bpe', or sampling = 0"
                )
        if self.alignments is not None and (self.corpora or self.placeholders or self.streams):
            raise ValueError("alignments are of one corpus in memory, without placeholders or sampling")
        try:
            Placeholders(self.placeholders)
        except UserError as error:
            raise ValueError(str(error)) from None

    @property
    def ingredients(self) -> tuple[Ingredient, ...]:
        if self.corpora:
            return self.corpora
        given = Ingredient(pairs=self.pairs, targets=self.targets, fields=self.fields)
        return (replace(given, valid=self.valid, valid_targets=self.valid_targets),)

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.tag for one in self.corpora if one.tag is not None))

    @property
    def name(self) -> str:
        return " + ".join(dict.fromkeys(one.pairs for one in self.ingredients))

    @property
    def streams(self) -> bool:
        """Whether it must: sampling cuts texts anew each epoch, and so needs them, not their ids."""
        return self.streaming is True or bool(self.sampling)

    @property
    def task(self) -> str | None:
        """Of a single corpus."""
        return self.ingredients[0].task if not self.corpora else None

    def drawn(self, split: str, count: int) -> Iterator[tasks.Pair]:
        """Pairs of the task."""
        return self.ingredients[0].drawn(split, count, self.words)

    def mixed_with(self, other: str, share: float) -> "Data":
        """With so many passes over the pairs of `other` that they are `share` of all that is seen."""
        if self.corpora or not 0 < share < 1:
            raise ValueError(f"the share to mix in must be between 0 and 1, and the corpus one, got {share}")
        own, added = replace(self.ingredients[0], valid=None, valid_targets=None), Ingredient(pairs=other)
        sizes = [self.count if one.task else sum(1 for _ in one.open()) for one in (own, added)]
        weight = share / (1 - share) * sizes[0] / sizes[1]
        corpora = (own, replace(added, weight=weight))
        return replace(self, pairs="", targets=None, fields=None, corpora=corpora)

    def copied_to(self, folder: Path) -> "Data":
        """With what can be read only once copied into `folder`."""
        if self.corpora:
            return self
        kept = self.ingredients[0].copied_to(folder)
        return replace(self, pairs=kept.pairs, targets=kept.targets)


def _has_names(pairs: str) -> bool:
    """Whether texts are found by a name there, not by their place."""
    return hub_name(pairs) is not None or has_named_fields(pairs)
