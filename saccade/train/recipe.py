"""A recipe: everything that a run needs, in the tables [data], [model] and [train]. It inherits nothing."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from saccade import config, files, names, tasks
from saccade.data import Cleaning, Fields, PairFiles, PairSource, open_pairs
from saccade.data.formats import has_named_fields
from saccade.errors import UserError
from saccade.models.table import MODELS, find_model
from saccade.names import hub_name, is_stdin, task_name
from saccade.ranges import (
    BetweenZeroAndOne,
    Checked,
    Count,
    CountOrZero,
    Length,
    NotNegative,
    Positive,
    Range,
    Seed,
    Share,
    UpToOne,
)
from saccade.text import Placeholders, Policy


@dataclass(frozen=True, kw_only=True)
class Ingredient(Checked):
    """One of several corpora."""

    pairs: str  # as data.pairs
    targets: str | None = None
    fields: Fields | None = None
    reverse: bool = False  # from target to source
    tag: str | None = None  # written before each source, such as "<fr>", to tell the model what to do
    weight: Annotated[float, Range(above=0, most=1_000_000)] = 1.0  # how often an epoch passes over this corpus
    valid: str | None = None  # validation pairs, tagged and reversed alike; none: some of the pairs are held out
    valid_targets: str | None = None
    count: Count | None = None  # pairs to draw from a task; none: data.count
    words: tuple[Length, Length] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tag is not None and (not self.tag or self.tag.split() != [self.tag] or "▁" in self.tag):
            raise ValueError(f"a tag is one word, such as <fr>, got {self.tag!r}")

    def __str__(self) -> str:
        parts = [self.pairs, "reversed" if self.reverse else "", f"tagged {self.tag}" if self.tag else ""]
        return ", ".join(part for part in (*parts, f"{self.weight:g} times" if self.weight != 1 else "") if part)

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
        """Copy input that can be read only once (standard input, a pipe) into `folder`."""
        if self.task is not None or hub_name(self.pairs) is not None:
            return self
        copy = PairFiles(self.pairs, self.targets).buffered_in(folder)
        return replace(self, pairs=str(copy.source), targets=None if copy.target is None else str(copy.target))


@dataclass(frozen=True, kw_only=True)
class Data(Checked):
    pairs: str = ""  # a file (TSV, JSONL, CSV), one of two parallel files, "-" for standard input, task:NAME or hf:NAME
    targets: str | None = None  # the target side of two parallel files
    fields: Fields | None = None  # in JSONL, CSV or hf:, if not "source" and "target"; or column numbers
    corpora: tuple[Ingredient, ...] = ()  # several corpora to mix, instead of data.pairs
    valid: str | None = None  # validation pairs; none: some of the training pairs are held out
    valid_targets: str | None = None
    valid_share: BetweenZeroAndOne = 0.05
    valid_most: Count = 2000
    count: Count = 100_000  # pairs to draw from a task
    words: tuple[Length, Length] | None = None  # shortest and longest source of a task; none: the task's usual lengths
    clean: Cleaning = field(default_factory=Cleaning)
    longest: Length = 256  # tokens per side; longer pairs are left out and reported
    vocabulary: Policy = field(default_factory=Policy)
    target_vocabulary: Policy | None = None  # for the target side, if it is of another kind; then joint is false
    joint: bool = True  # one vocabulary for both sides
    right_to_left: bool = False  # the model writes targets from their end; users see them as usual
    vocab_from: str | None = None  # use the vocabulary of this model folder
    vocab_lines: Count | None = None  # texts to train the vocabulary on; none: a million, or 100,000 when streaming
    placeholders: tuple[str, ...] = ()  # copied unchanged: "markup", "url", "email", "number", or regular expressions
    sampling: Share = 0.0  # subword sampling: unigram's smoothing or BPE's dropout, such as 0.1; 0 disables it
    streaming: bool | Literal["auto"] = "auto"  # read pairs when needed; auto: if more than a gigabyte
    buffer: Count = 50_000  # pairs that are shuffled together when streaming
    processes: CountOrZero | Literal["auto"] = "auto"  # that prepare batches when streaming; auto: at most 8
    alignments: str | None = None  # a file of links i-j between words, one line per pair, for train.guided; or "task"

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
                    f"sampling needs subwords, got {self.sampling} with a vocabulary of kind "
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
        """Whether it must stream: sampling segments the texts again in each epoch."""
        return self.streaming is True or bool(self.sampling)

    @property
    def task(self) -> str | None:
        """Of a single corpus."""
        return self.ingredients[0].task if not self.corpora else None

    def drawn(self, split: str, count: int) -> Iterator[tasks.Pair]:
        """Pairs of the task."""
        return self.ingredients[0].drawn(split, count, self.words)

    def mixed_with(self, other: str, share: float) -> "Data":
        """Mix in the pairs of `other`, so often that they are `share` of all pairs."""
        if self.corpora or not 0 < share < 1:
            raise ValueError(f"the share to mix in must be between 0 and 1, and the corpus one, got {share}")
        own, added = replace(self.ingredients[0], valid=None, valid_targets=None), Ingredient(pairs=other)
        sizes = [self.count if one.task else sum(1 for _ in one.open()) for one in (own, added)]
        weight = share / (1 - share) * sizes[0] / sizes[1]
        corpora = (own, replace(added, weight=weight))
        return replace(self, pairs="", targets=None, fields=None, corpora=corpora)

    def copied_to(self, folder: Path) -> "Data":
        """Copy input that can be read only once (standard input, a pipe) into `folder`."""
        if self.corpora:
            return self
        copy = self.ingredients[0].copied_to(folder)
        return replace(self, pairs=copy.pairs, targets=copy.targets)


def _has_names(pairs: str) -> bool:
    """Whether texts are found by a field's name, not by its position."""
    return hub_name(pairs) is not None or has_named_fields(pairs)


__all__ = ["Data", "Ingredient", "Recipe", "Training", "load_saved_recipe", "load_recipe", "read_recipe", "recipe_of"]

RECIPE = "recipe.toml"  # in the folder of a run

_Place = Annotated[int, Range(least=-1_000, most=1_000)]  # in a list, from 0, or from its end by -1
_Threads = Annotated[int, Range(least=1, most=1_000)]

MEASURED = ("tokens", "threads")  # settings of Training that the run decides once, when it begins, if they are "auto"


@dataclass(frozen=True, kw_only=True)
class Training(Checked):
    optimiser: Literal["adamw", "adadelta", "sgd", "muon"] = "adamw"
    lr: Positive = 1e-3  # the highest learning rate; usual: 1 for Adadelta, 0.1 to 1 for SGD
    momentum: Share | None = None  # none: 0 for SGD, 0.95 for Muon
    nesterov: bool = False  # Nesterov momentum for SGD; Muon always uses it
    betas: tuple[Share, Share] = (0.9, 0.98)
    weight_decay: NotNegative = 1e-4
    schedule: Literal["constant", "inverse-sqrt", "cosine", "staircase", "plateau"] = "cosine"
    warmup: CountOrZero = 200  # updates in which the learning rate rises to lr
    decay: BetweenZeroAndOne = 0.5  # factor by which a staircase or a plateau lowers the learning rate
    decay_after: NotNegative = 5.0  # epochs before a staircase first lowers it
    decay_every: Annotated[float, Range(least=0.001)] = 1.0  # epochs between the further steps
    decay_patience: Count = 1  # validations without a lower loss that make a plateau
    least_lr: Positive = 1e-5  # a plateau that would lower the rate further ends the run
    clip: Positive | None = 1.0  # the largest norm of the gradient
    smoothing: Share = 0.1  # label smoothing
    sampling: Literal["linear", "exponential", "inverse-sigmoid"] | None = None  # scheduled sampling
    sampling_half: Count = 5000  # updates until the decoder reads as many of its own words as true ones
    sampling_least: Share = 0.0  # the smallest share of true words
    guided: NotNegative = 0.0  # weight of the loss that draws the attention to data.alignments
    guided_decay: UpToOne = 1.0  # factor of that weight after each epoch
    guided_layer: _Place | None = None  # which of the decoder's attentions, from 0; -1: the last; none: their mean
    guided_head: _Place | None = None  # which of its heads, in the same way
    reinforce: NotNegative = 0.1  # weight of REINFORCE, by which a sampled attention learns what to read
    reinforce_entropy: NotNegative = 0.002  # weight of the entropy of its distribution
    reinforce_expected: Share = 0.5  # share of sentences read by the expected value instead of a draw
    init_from: str | None = None  # start with the weights of this model folder
    freeze: tuple[str, ...] = ()  # names of parameters that do not change, or patterns such as "encoder.*"
    tokens: Count | Literal["auto"] = 4096  # per batch, all workers: pairs × longest side; auto: what fits in memory
    accumulate: Annotated[int, Range(least=1, most=10_000)] = 1  # batches per update
    ema: BetweenZeroAndOne | None = None  # decay of a running average of the weights, which is then judged and saved
    average: CountOrZero = 0  # at the end, try the mean weights of so many last validations
    max_steps: CountOrZero | None = None  # updates; the run ends when the first of the three limits is reached
    max_epochs: CountOrZero | None = None
    max_minutes: NotNegative | None = None
    check_every: Count = 500  # updates between validations; each also saves the run
    patience: Count = 10  # validations without a better score before the run ends
    judge: Literal["bleu", "chrf", "exact", "loss"] = "bleu"  # the metric that chooses the best model
    judge_on: Count = 200  # validation sentences to translate for it
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"
    compile: bool = False  # compile the forward pass with torch.compile
    tensorboard: bool = False  # also write the metrics for TensorBoard, to tensorboard/
    device: str = "auto"
    threads: _Threads | Literal["auto"] | None = "auto"  # CPU threads; auto: one or all, whichever is faster; none: all
    seed: Seed = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_steps is None and self.max_epochs is None and self.max_minutes is None:
            object.__setattr__(self, "max_epochs", 30)
        if self.nesterov and (self.optimiser != "sgd" or not self.momentum):
            raise ValueError("nesterov needs SGD with momentum: set optimiser = 'sgd' and momentum = 0.9")

    @property
    def batch_tokens(self) -> int:
        """`tokens`, or a usual number while it is "auto"."""
        return self.tokens if isinstance(self.tokens, int) else 4096


@dataclass(frozen=True, kw_only=True)
class Recipe:
    data: Data
    model: str
    settings: Any  # the model's Config
    train: Training

    def to_dict(self) -> dict[str, Any]:
        model = {"name": self.model, **config.to_dict(self.settings)}
        return {"data": config.to_dict(self.data), "model": model, "train": config.to_dict(self.train)}

    def to_toml(self) -> str:
        return config.dump_toml(self.to_dict())


@dataclass(frozen=True, kw_only=True)
class _Tables:
    data: Data = field(default_factory=Data)
    model: dict[str, Any] = field(default_factory=dict)
    train: Training = field(default_factory=Training)


def recipe_of(mapping: Mapping[str, Any], where: str) -> Recipe:
    """From plain values. `[model]` has a `name`, perhaps a `preset` to start from, and the model's own settings."""
    tables = config.from_dict(_Tables, mapping, where)
    if not tables.data.name:
        raise UserError(f"{where}: data.pairs: missing; expected a file of pairs, or task:NAME")
    own = dict(tables.model)
    name, preset = own.pop("name", None), own.pop("preset", None)
    if not isinstance(name, str):
        raise UserError(f"{where}: model.name: missing; expected one of {', '.join(MODELS)}")
    kind = find_model(name)
    if preset is not None:
        if not isinstance(preset, str) or preset not in kind.PRESETS:
            raise UserError(f"{where}: model.preset: {preset!r} given, expected one of {', '.join(kind.PRESETS)}")
        own = config.to_dict(kind.PRESETS[preset]) | own
    settings = config.from_dict(kind.config_type, own, where, "model")
    return Recipe(data=tables.data, model=name, settings=settings, train=tables.train)


def load_recipe(path: Path, overrides: Iterable[str] = ()) -> Recipe:
    return recipe_of(config.override(read_recipe(path), overrides), str(path))


def load_saved_recipe(folder: Path, overrides: Iterable[str] = ()) -> Recipe:
    """The recipe of the run in that folder. It may be somebody else's: it names no code of theirs unless trusted."""
    path = files.path_inside(folder, RECIPE)
    mapping = config.load_toml(path)
    names.refuse_outside({"model": mapping.get("model")}, where=str(path))
    return recipe_of(config.override(mapping, overrides), str(path))


def read_recipe(path: Path) -> dict[str, Any]:
    """The plain values of a recipe file. In a model folder, it is trusted no more than the folder."""
    mapping = config.load_toml(path)
    if (path.parent / "config.json").exists() or files.has_journal(path.parent):
        names.refuse_outside({"model": mapping.get("model")}, where=str(path))
    return mapping
