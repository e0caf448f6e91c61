"""The table [data] of a recipe: which pairs to learn from, and how they become tokens."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

from saccade import tasks
from saccade.data import Cleaning, Fields, PairFiles, PairSource, open_pairs
from saccade.data.corruption import Corruption
from saccade.data.formats import has_named_fields
from saccade.data.shapes import MOST_SHAPES
from saccade.data.sources import PairSide
from saccade.data.texts import SideTexts, TextFiles, TextForm, WindowForm
from saccade.errors import UserError
from saccade.names import hub_name, is_stdin, task_name
from saccade.ranges import (
    BetweenZeroAndOne,
    BlockLength,
    Checked,
    Count,
    CountOrZero,
    Help,
    Length,
    OptionError,
    Range,
    Share,
)
from saccade.text import Placeholders, Policy

_Auto = Literal["auto"]
_Lengths = tuple[Length, Length]
_NO_LIMIT = 1 << 40  # tokens: blocks are cut from texts of any length


@dataclass(frozen=True, kw_only=True)
class WeightedCorpus(Checked):
    """One of the corpora of `[[data.corpora]]`."""

    pairs: Annotated[str, Help("As data.pairs.")]
    targets: Annotated[str | None, Help("As data.targets.")] = None
    fields: Annotated[Fields | None, Help("As data.fields.")] = None
    reverse: Annotated[bool, Help("Learn to translate from target to source.")] = False
    tag: Annotated[str | None, Help("A word before each source that tells the model what to do, such as <fr>.")] = None
    side: Annotated[PairSide | None, Help("Learn the texts of one side of the pairs; for contents = 'text'.")] = None
    weight: Annotated[float, Range(above=0, most=1_000_000), Help("Number of passes over this corpus per epoch.")] = 1.0
    valid: Annotated[str | None, Help("As data.valid; tagged and reversed like the training pairs.")] = None
    valid_targets: Annotated[str | None, Help("As data.valid_targets.")] = None
    count: Annotated[Count | None, Help("As data.count, which is the default.")] = None
    words: Annotated[_Lengths | None, Help("As data.words, which is the default.")] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tag is not None and (not self.tag or self.tag.split() != [self.tag] or "▁" in self.tag):
            raise OptionError("tag", f"must be one word, such as <fr>, got {self.tag!r}")

    def __str__(self) -> str:
        parts = [self.pairs, "reversed" if self.reverse else "", f"tagged {self.tag}" if self.tag else ""]
        parts.append(f"{self.side}s" if self.side else "")
        return ", ".join(part for part in (*parts, f"{self.weight:g} times" if self.weight != 1 else "") if part)

    @property
    def task(self) -> str | None:
        return task_name(self.pairs)

    def drawn(self, split: str, count: int, words: tuple[int, int] | None) -> Iterator[tasks.Pair]:
        """Pairs of a built-in task; the same pairs at every call."""
        assert self.task is not None
        return tasks.task(self.task).pairs(count, seed=1, split=split, words=self.words or words)

    def open(self, form: WindowForm | None = None) -> PairSource:
        """The pairs, or the texts that are learnt in a `form`."""
        if form is not None and self.side is None:
            return TextFiles.of(self.pairs, form.block)
        return self._one_side(open_pairs(self.pairs, self.targets, fields=self.fields, reverse=self.reverse))

    def _one_side(self, pairs: PairSource) -> PairSource:
        """The texts on the side that is learnt, or the pairs if both are."""
        return pairs if self.side is None else SideTexts(pairs, self.side)

    def open_valid(self, form: WindowForm | None = None) -> PairSource | None:
        if self.valid is None:
            return None
        if form is not None and self.side is None:
            return TextFiles.of(self.valid, form.block)
        alike = _has_names(self.valid) or not _has_names(self.pairs)  # a plain TSV may go with pairs in any form
        fields = self.fields if alike and self.valid_targets is None else None
        return self._one_side(open_pairs(self.valid, self.valid_targets, fields=fields, reverse=self.reverse))


@dataclass(frozen=True, kw_only=True)
class Data(Checked):
    pairs: Annotated[
        str, Help("A file (TSV, JSONL, CSV), the sources of two files, - for standard input, task:NAME or hf:NAME.")
    ] = ""
    targets: Annotated[str | None, Help("The targets of two parallel files.")] = None
    fields: Annotated[Fields | None, Help("Names of the source's and target's fields, or column numbers.")] = None
    corpora: tuple[WeightedCorpus, ...] = ()  # several corpora to mix, instead of data.pairs
    contents: Annotated[
        Literal["pairs", "text"],
        Help("What the files contain: pairs, or text, for language models and for pre-training."),
    ] = "pairs"
    noise: Corruption | None = None  # corrupt the texts, and learn to restore them: pre-training
    block: Annotated[
        BlockLength | None,
        Help("Learn blocks of so many tokens across the lines; none: each line is a text."),
    ] = None
    valid: Annotated[str | None, Help("Validation pairs; by default, some of the pairs are held out.")] = None
    valid_targets: Annotated[str | None, Help("The targets of the validation pairs, if in two files.")] = None
    valid_share: Annotated[BetweenZeroAndOne, Help("Share of the pairs to hold out for validation.")] = 0.05
    valid_most: Annotated[Count, Help("Maximum number of pairs to hold out.")] = 2000
    count: Annotated[Count, Help("Number of pairs to draw from a task.")] = 100_000
    words: Annotated[_Lengths | None, Help("Shortest and longest source of a task; none: its usual lengths.")] = None
    clean: Cleaning = field(default_factory=Cleaning)
    longest: Annotated[Length, Help("Maximum number of tokens per side; longer pairs are left out and reported.")] = 256
    vocabulary: Policy = field(default_factory=Policy)
    target_vocabulary: Policy | None = None  # for the target side, if it is of another kind; then joint is false
    joint: Annotated[bool, Help("Use one vocabulary for both sides.")] = True
    right_to_left: Annotated[bool, Help("Write targets from their end; users see them as usual.")] = False
    both_directions: Annotated[
        CountOrZero, Help("Epochs at the start in which half of the pairs, in turn, go from target to source.")
    ] = 0
    vocab_from: Annotated[str | None, Help("Use the vocabulary of this model folder.")] = None
    vocab_lines: Annotated[
        Count | None, Help("Texts to train the vocabulary on; none: a million, or 100,000 when streaming.")
    ] = None
    placeholders: Annotated[
        tuple[str, ...], Help("Texts to copy unchanged: markup, url, email, number, or regular expressions.")
    ] = ()
    sampling: Annotated[
        Share,
        Help("Subword sampling: BPE's dropout, or unigram's smoothing (the smaller, the freer). 0 disables this."),
    ] = 0.0
    streaming: Annotated[bool | _Auto, Help("Read pairs during training; auto: if the files exceed 1 GiB.")] = "auto"
    buffer: Annotated[Count, Help("Number of pairs that are shuffled together when streaming.")] = 50_000
    processes: Annotated[
        CountOrZero | _Auto, Help("Processes that prepare batches when streaming; auto: at most 8.")
    ] = "auto"
    batch_shapes: Annotated[
        Count, Help("Maximum number of batch shapes: with few, batches mix lengths; with many, there is less padding.")
    ] = MOST_SHAPES
    alignments: Annotated[
        str | None, Help('A file of word links i-j, one line per pair, for train.guided; or "task".')
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.corpora and (self.pairs or self.targets or self.fields):
            raise OptionError("corpora", "have pairs of their own; leave pairs, targets and fields out")
        self._check_contents()
        if any(is_stdin(corpus.pairs) or is_stdin(corpus.targets) for corpus in self.corpora):
            raise OptionError("corpora", "cannot be read from standard input; put the pairs in a file")
        if self.target_vocabulary is not None:
            object.__setattr__(self, "joint", False)
        for key in ("vocabulary", "target_vocabulary"):
            policy = getattr(self, key)
            if self.sampling and policy is not None and policy.kind in ("char", "word"):
                subwords = f"set {key}.kind = 'unigram' or 'bpe', or sampling = 0"
                raise OptionError("sampling", f"needs subwords, got {self.sampling} with {policy.kind!r}: {subwords}")
        one_way = {
            "two vocabularies (joint = false)": not self.joint,
            "tags": self.tags,
            "alignments": self.alignments,
            "right_to_left": self.right_to_left,
        }
        if self.both_directions and (given := [name for name, value in one_way.items() if value]):
            raise OptionError("both_directions", f"does not go with {given[0]}: leave one of them out")
        if self.alignments is not None and (self.corpora or self.placeholders or self.streams):
            raise OptionError("alignments", "need one corpus in memory, without placeholders or sampling")
        try:
            Placeholders(self.placeholders)
        except UserError as error:
            raise OptionError("placeholders", f"cannot be used: {error}") from None

    def _check_contents(self) -> None:
        if self.contents == "pairs":
            sides = [corpus.side for corpus in self.corpora if corpus.side is not None]
            of_text = {"block": self.block, "noise": self.noise, "corpora": sides}
            if given := [name for name, value in of_text.items() if value]:
                what = "has a side, which is" if given[0] == "corpora" else "is"
                raise OptionError(given[0], f"{what} for a text: set contents = 'text', or leave it out")
            return
        if self.noise is not None:
            self._check_noise()
        of_pairs = {
            "targets": self.targets,
            "fields": self.fields,
            "target_vocabulary": self.target_vocabulary,
            "two vocabularies (joint = false)": not self.joint,
            "both_directions": self.both_directions,
            "alignments": self.alignments,
            "tags": self.tags,
            "placeholders": self.placeholders,
        }
        if given := [name for name, value in of_pairs.items() if value]:
            raise OptionError("contents", f"are a text, which has one side: leave {given[0]} out")
        whole = [corpus.pairs for corpus in self.all_corpora if corpus.side is None and hub_name(corpus.pairs)]
        if unreadable := [*whole, *(corpus.pairs for corpus in self.all_corpora if corpus.task is not None)]:
            raise OptionError("contents", f"are a text, but {unreadable[0]} has pairs: give a file")

    def _check_noise(self) -> None:
        if self.block is not None:
            raise OptionError("block", "is for language models; pre-training restores lines: leave block or noise out")
        if self.right_to_left:
            raise OptionError("noise", "restores texts from left to right: leave right_to_left out")
        if not self.vocabulary.byte_fallback:
            raise OptionError("noise", "hides tokens by <unk>, which must not be in a text: leave byte_fallback true")

    @property
    def form(self) -> WindowForm | None:
        """How texts are learnt; None: pairs are."""
        if self.contents == "pairs":
            return None
        return TextForm(self.block) if self.noise is None else self.noise

    @property
    def most_tokens(self) -> int:
        """Longer texts are left out."""
        return self.longest if self.block is None else _NO_LIMIT

    @property
    def all_corpora(self) -> tuple[WeightedCorpus, ...]:
        if self.corpora:
            return self.corpora
        files = {name: getattr(self, name) for name in ("pairs", "targets", "fields", "valid", "valid_targets")}
        return (WeightedCorpus(**files),)

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(corpus.tag for corpus in self.corpora if corpus.tag is not None))

    @property
    def name(self) -> str:
        return " + ".join(dict.fromkeys(corpus.pairs for corpus in self.all_corpora))

    @property
    def streams(self) -> bool:
        """Whether it must stream: sampling segments the texts again in each epoch."""
        return self.streaming is True or bool(self.sampling)

    @property
    def task(self) -> str | None:
        """The task of a single corpus, if it is one."""
        return None if self.corpora else task_name(self.pairs)

    def drawn(self, split: str, count: int) -> Iterator[tasks.Pair]:
        """Pairs of the task."""
        return self.all_corpora[0].drawn(split, count, self.words)

    def mixed_with(self, other: str, share: float, pairs: int | None = None) -> "Data":
        """Mix in the pairs of `other` with the weight that makes them `share` of all pairs. `pairs` is the number of
        pairs in the file, if it is known."""
        if self.corpora or not 0 < share < 1:
            raise ValueError(f"the share to mix in must be between 0 and 1, and the corpus one, got {share}")
        first, added = replace(self.all_corpora[0], valid=None, valid_targets=None), WeightedCorpus(pairs=other)
        sizes = [
            self.count if corpus.task else known or sum(1 for _ in corpus.open())
            for corpus, known in ((first, pairs), (added, None))
        ]
        added = replace(added, weight=share / (1 - share) * sizes[0] / sizes[1])
        return replace(self, pairs="", targets=None, fields=None, corpora=(first, added))

    def copied_to(self, folder: Path) -> "Data":
        """Copy input that can be read only once (standard input, a pipe) into `folder`."""
        if self.corpora or self.task is not None or hub_name(self.pairs) is not None:
            return self
        files = PairFiles(self.pairs, self.targets) if self.form is None else TextFiles(self.pairs)
        copy = files.buffered_in(folder)
        return replace(self, pairs=str(copy.source), targets=None if copy.target is None else str(copy.target))


def _has_names(pairs: str) -> bool:
    """Whether texts are found by a field's name, not by its position."""
    return hub_name(pairs) is not None or has_named_fields(pairs)
