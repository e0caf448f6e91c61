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
    Help,
    Length,
    NotNegative,
    OptionError,
    Positive,
    Range,
    Seed,
    Share,
    UpToOne,
)
from saccade.text import Placeholders, Policy

_Auto = Literal["auto"]
_Lengths = tuple[Length, Length]
_Place = Annotated[int, Range(least=-1_000, most=1_000)]  # in a list, from 0, or from its end by -1
_Precision = Literal["auto", "fp32", "bf16", "fp16"]
_Schedule = Literal["constant", "inverse-sqrt", "cosine", "staircase", "plateau"]
_ScheduledSampling = Literal["linear", "exponential", "inverse-sigmoid"]
_Threads = Annotated[int, Range(least=1, most=1_000)] | Literal["auto"] | None


@dataclass(frozen=True, kw_only=True)
class WeightedCorpus(Checked):
    """One of the corpora of `[[data.corpora]]`."""

    pairs: Annotated[str, Help("As data.pairs.")]
    targets: Annotated[str | None, Help("As data.targets.")] = None
    fields: Annotated[Fields | None, Help("As data.fields.")] = None
    reverse: Annotated[bool, Help("Learn to translate from target to source.")] = False
    tag: Annotated[str | None, Help("A word before each source that tells the model what to do, such as <fr>.")] = None
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
        return ", ".join(part for part in (*parts, f"{self.weight:g} times" if self.weight != 1 else "") if part)

    @property
    def task(self) -> str | None:
        return task_name(self.pairs)

    def drawn(self, split: str, count: int, words: tuple[int, int] | None) -> Iterator[tasks.Pair]:
        """Pairs of a built-in task; the same pairs at every call."""
        assert self.task is not None
        return tasks.task(self.task).pairs(count, seed=1, split=split, words=self.words or words)

    def open(self) -> PairSource:
        return open_pairs(self.pairs, self.targets, fields=self.fields, reverse=self.reverse)

    def open_valid(self) -> PairSource | None:
        if self.valid is None:
            return None
        alike = _has_names(self.valid) or not _has_names(self.pairs)  # a plain TSV may go with pairs in any form
        fields = self.fields if alike and self.valid_targets is None else None
        return open_pairs(self.valid, self.valid_targets, fields=fields, reverse=self.reverse)


@dataclass(frozen=True, kw_only=True)
class Data(Checked):
    pairs: Annotated[
        str, Help("A file (TSV, JSONL, CSV), the sources of two files, - for standard input, task:NAME or hf:NAME.")
    ] = ""
    targets: Annotated[str | None, Help("The targets of two parallel files.")] = None
    fields: Annotated[Fields | None, Help("Names of the source's and target's fields, or column numbers.")] = None
    corpora: tuple[WeightedCorpus, ...] = ()  # several corpora to mix, instead of data.pairs
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
    vocab_from: Annotated[str | None, Help("Use the vocabulary of this model folder.")] = None
    vocab_lines: Annotated[
        Count | None, Help("Texts to train the vocabulary on; none: a million, or 100,000 when streaming.")
    ] = None
    placeholders: Annotated[
        tuple[str, ...], Help("Texts to copy unchanged: markup, url, email, number, or regular expressions.")
    ] = ()
    sampling: Annotated[Share, Help("Subword sampling: unigram's smoothing or BPE's dropout. 0 disables this.")] = 0.0
    streaming: Annotated[bool | _Auto, Help("Read pairs during training; auto: if the files exceed 1 GiB.")] = "auto"
    buffer: Annotated[Count, Help("Number of pairs that are shuffled together when streaming.")] = 50_000
    processes: Annotated[
        CountOrZero | _Auto, Help("Processes that prepare batches when streaming; auto: at most 8.")
    ] = "auto"
    alignments: Annotated[
        str | None, Help('A file of word links i-j, one line per pair, for train.guided; or "task".')
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.corpora and (self.pairs or self.targets or self.fields):
            raise OptionError("corpora", "have pairs of their own; leave pairs, targets and fields out")
        if any(is_stdin(corpus.pairs) or is_stdin(corpus.targets) for corpus in self.corpora):
            raise OptionError("corpora", "cannot be read from standard input; put the pairs in a file")
        if self.target_vocabulary is not None:
            object.__setattr__(self, "joint", False)
        for key in ("vocabulary", "target_vocabulary"):
            policy = getattr(self, key)
            if self.sampling and policy is not None and policy.kind in ("char", "word"):
                subwords = f"set {key}.kind = 'unigram' or 'bpe', or sampling = 0"
                raise OptionError("sampling", f"needs subwords, got {self.sampling} with {policy.kind!r}: {subwords}")
        if self.alignments is not None and (self.corpora or self.placeholders or self.streams):
            raise OptionError("alignments", "need one corpus in memory, without placeholders or sampling")
        try:
            Placeholders(self.placeholders)
        except UserError as error:
            raise OptionError("placeholders", f"cannot be used: {error}") from None

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
        copy = PairFiles(self.pairs, self.targets).buffered_in(folder)
        return replace(self, pairs=str(copy.source), targets=None if copy.target is None else str(copy.target))


def _has_names(pairs: str) -> bool:
    """Whether texts are found by a field's name, not by its position."""
    return hub_name(pairs) is not None or has_named_fields(pairs)


RECIPE = "recipe.toml"  # in the folder of a run

MEASURED = ("tokens", "threads")  # settings of Training that the run decides once, when it begins, if they are "auto"


@dataclass(frozen=True, kw_only=True)
class Training(Checked):
    optimiser: Annotated[Literal["adamw", "adadelta", "sgd", "muon"], Help("The optimiser.")] = "adamw"
    lr: Annotated[Positive, Help("Highest learning rate; usually 1 for Adadelta, 0.1 to 1 for SGD.")] = 1e-3
    momentum: Annotated[Share | None, Help("Momentum; none: 0 for SGD, 0.95 for Muon.")] = None
    nesterov: Annotated[bool, Help("Use Nesterov momentum with SGD; Muon always uses it.")] = False
    betas: Annotated[tuple[Share, Share], Help("Decay rates of AdamW's averages of gradient and square.")] = (0.9, 0.98)
    weight_decay: Annotated[NotNegative, Help("Weight decay of matrices; vectors, such as biases, have none.")] = 1e-4
    schedule: Annotated[_Schedule, Help("How the learning rate falls after the warm-up.")] = "cosine"
    warmup: Annotated[CountOrZero, Help("Updates in which the learning rate rises to lr.")] = 200
    decay: Annotated[BetweenZeroAndOne, Help("Factor by which a staircase or plateau lowers the rate.")] = 0.5
    decay_after: Annotated[NotNegative, Help("Epochs before a staircase first lowers the rate.")] = 5.0
    decay_every: Annotated[float, Range(least=0.001), Help("Epochs between further steps of a staircase.")] = 1.0
    decay_patience: Annotated[Count, Help("Validations without a lower loss before a plateau lowers the rate.")] = 1
    least_lr: Annotated[Positive, Help("A plateau that would lower the rate below this ends the run.")] = 1e-5
    clip: Annotated[Positive | None, Help("Maximum norm of the gradient.")] = 1.0
    smoothing: Annotated[Share, Help("Label smoothing.")] = 0.1
    sampling: Annotated[_ScheduledSampling | None, Help("Curve of scheduled sampling; none disables it.")] = None
    sampling_half: Annotated[Count, Help("Updates until half of the words that the decoder reads are its own.")] = 5000
    sampling_least: Annotated[Share, Help("Minimum share of true words that the decoder reads.")] = 0.0
    guided: Annotated[NotNegative, Help("Weight of the loss that draws attention to data.alignments.")] = 0.0
    guided_decay: Annotated[UpToOne, Help("Factor by which train.guided falls after each epoch.")] = 1.0
    guided_layer: Annotated[
        _Place | None, Help("Which decoder attention to guide, from 0; -1: the last; none: their mean.")
    ] = None
    guided_head: Annotated[_Place | None, Help("Which of its heads to guide; none: their mean.")] = None
    reinforce: Annotated[NotNegative, Help("Weight of REINFORCE, which trains a sampled attention.")] = 0.1
    reinforce_entropy: Annotated[NotNegative, Help("Weight of the entropy of a sampled attention.")] = 0.002
    reinforce_expected: Annotated[Share, Help("Share of sentences that read the expected value, not a sample.")] = 0.5
    init_from: Annotated[str | None, Help("Start with the weights of this model folder.")] = None
    freeze: Annotated[tuple[str, ...], Help('Parameters that do not change, by name or pattern: "encoder.*".')] = ()
    tokens: Annotated[
        Count | _Auto, Help("Batch size of all workers: pairs × longest side; auto: all that fits in memory.")
    ] = 4096
    accumulate: Annotated[int, Range(least=1, most=10_000), Help("Batches per update.")] = 1
    ema: Annotated[
        BetweenZeroAndOne | None, Help("Decay of a running average of the weights, which is validated and saved.")
    ] = None
    average: Annotated[CountOrZero, Help("Try the mean weights of the last N validations; 0 disables this.")] = 0
    max_steps: Annotated[CountOrZero | None, Help("Maximum number of updates; the first limit ends the run.")] = None
    max_epochs: Annotated[CountOrZero | None, Help("Maximum number of epochs; 30 if no limit is set.")] = None
    max_minutes: Annotated[NotNegative | None, Help("Maximum minutes of updates and validations.")] = None
    check_every: Annotated[Count, Help("Updates between validations; each also saves the run.")] = 500
    patience: Annotated[Count, Help("Validations without a better score before the run ends.")] = 10
    judge: Annotated[Literal["bleu", "chrf", "exact", "loss"], Help("The metric that chooses the best model.")] = "bleu"
    judge_on: Annotated[Count, Help("Number of validation sentences to translate for the metric.")] = 200
    precision: Annotated[_Precision, Help("Number format; auto: bf16 on a GPU that has it, else fp32.")] = "auto"
    compile: Annotated[bool, Help("Compile the forward pass with torch.compile.")] = False
    fast_paths: Annotated[
        bool, Help("On a GPU, replay CUDA graphs and let the host run ahead; the results are the same.")
    ] = True
    tensorboard: Annotated[bool, Help("Also write the metrics for TensorBoard, to tensorboard/.")] = False
    device: Annotated[str, Help("The device: auto, cpu, cuda, cuda:N or mps.")] = "auto"
    threads: Annotated[_Threads, Help("CPU threads; auto: one or all, whichever is faster; none: all.")] = "auto"
    seed: Annotated[Seed, Help("Seed for all random numbers of the run.")] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_steps is None and self.max_epochs is None and self.max_minutes is None:
            object.__setattr__(self, "max_epochs", 30)
        if self.nesterov and (self.optimiser != "sgd" or not self.momentum):
            raise OptionError("nesterov", "needs SGD with momentum: set optimiser = 'sgd' and momentum = 0.9")

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
    """Read the tables. `[model]` has a `name`, perhaps a `preset` to start from, and settings of the model."""
    tables = config.from_dict(_Tables, mapping, where)
    if not tables.data.name:
        raise UserError(f"{where}: data.pairs: missing; expected a file of pairs, or task:NAME")
    settings = dict(tables.model)
    name, preset = settings.pop("name", None), settings.pop("preset", None)
    if not isinstance(name, str):
        raise UserError(f"{where}: model.name: missing; expected one of {', '.join(MODELS)}")
    kind = find_model(name)
    if preset is not None:
        if not isinstance(preset, str) or preset not in kind.PRESETS:
            raise UserError(f"{where}: model.preset: {preset!r} given, expected one of {', '.join(kind.PRESETS)}")
        settings = config.to_dict(kind.PRESETS[preset]) | settings
    options = config.from_dict(kind.config_type, settings, where, "model")
    return Recipe(data=tables.data, model=name, settings=options, train=tables.train)


def load_recipe(path: Path, overrides: Iterable[str] = ()) -> Recipe:
    return recipe_of(config.override(read_recipe(path), overrides), str(path))


def load_saved_recipe(folder: Path) -> Recipe:
    """The recipe of the run in that folder. It may be somebody else's: it names no code of theirs unless trusted."""
    path = files.path_inside(folder, RECIPE)
    mapping = config.load_toml(path)
    names.refuse_outside({"model": mapping.get("model")}, where=str(path))
    return recipe_of(mapping, str(path))


def read_recipe(path: Path) -> dict[str, Any]:
    """The plain values of a recipe file. In a model folder, it is trusted no more than the folder."""
    mapping = config.load_toml(path)
    if (path.parent / "config.json").exists() or files.has_journal(path.parent):
        names.refuse_outside({"model": mapping.get("model")}, where=str(path))
    return mapping
