"""The options of commands that run a trained model. They load no torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from saccade.ranges import Checked, Count, Help, OptionError, Seed

TooLong = Literal["split", "split-or-refuse", "refuse", "keep"]
FIGURES = (".svg", ".png", ".pdf")
_JSON, _UNKNOWN, _CHOICE, _ENSEMBLE = "JSON", "Unknown words", "Choosing among the hypotheses", "Ensemble"

BatchTokens = Annotated[Count, Help("Tokens × hypotheses per batch; a smaller number needs less memory.")]
Chunk = Annotated[Count, Help("Number of lines to process and save at a time.")]
By = Annotated[
    Literal["auto", "piece", "word"],
    Help("Show attention per word or per token (piece). auto shows tokens for character models and single words."),
]
Tag = Annotated[str | None, Help("A tag such as <fr> to put before every source, for a model trained with tags.")]
Restart = Annotated[bool, Help("Start from the beginning and discard the output of an interrupted command.")]


@dataclass(frozen=True, kw_only=True)
class PairOptions(Checked):
    """The pairs that a command reads."""

    pairs: Annotated[
        str, Help("A TSV file, the sources of two parallel files, - for standard input, or task:NAME.", argument=True)
    ]
    targets: Annotated[Path | None, Help("The targets, if PAIRS has only the sources.", argument=True)] = None
    count: Annotated[Count, Help("Number of test pairs, if they come from a task.")] = 500
    seed: Annotated[Seed, Help("Seed for the test pairs, if they come from a task.")] = 1


@dataclass(frozen=True, kw_only=True)
class EnsembleOptions(Checked):
    ensemble: Annotated[
        tuple[Path, ...], Help("The folder of another model to combine with MODEL. Can be repeated.", group=_ENSEMBLE)
    ] = ()
    average: Annotated[
        Literal["probabilities", "log-probabilities"],
        Help("What to average over the models: probabilities or log-probabilities.", group=_ENSEMBLE),
    ] = "probabilities"
    weights: Annotated[
        str, Help("Weights of the models in order, such as 0.7,0.3 (default: equal weights).", group=_ENSEMBLE)
    ] = ""

    @property
    def shares(self) -> tuple[float, ...]:
        try:
            return tuple(map(float, filter(None, self.weights.split(","))))
        except ValueError:
            raise OptionError("weights", f"{self.weights}: expected one number per model, such as 0.7,0.3") from None


@dataclass(frozen=True, kw_only=True)
class RerankingModels(Checked):
    """Models that judge the hypotheses of another model."""

    right_to_left: Annotated[Path | None, Help("A model trained with data.right_to_left.", group=_CHOICE)] = None
    channel: Annotated[
        Path | None, Help("A model for the reverse direction, for log p(source | translation).", group=_CHOICE)
    ] = None
    prior: Annotated[
        Path | None, Help("A model of the targets alone, trained with one fixed source.", group=_CHOICE)
    ] = None
    prior_source: Annotated[str, Help("The fixed source that the --prior model was trained with.", group=_CHOICE)] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.prior is None) != (self.prior_source == ""):
            raise OptionError("prior", "MODEL and --prior-source TEXT, its fixed source, go together; give both")

    @property
    def folders(self) -> tuple[Path | None, Path | None, Path | None]:
        return self.right_to_left, self.channel, self.prior


@dataclass(frozen=True, kw_only=True)
class FileOptions(Checked):
    """How `saccade translate` reads, checks, writes and draws."""

    out: Annotated[
        Path | None, Help("Write to this file at the end. Repeat an interrupted command to continue where it stopped.")
    ] = None
    restart: Restart = False
    too_long: Annotated[
        TooLong,
        Help(
            "What to do with a text that is longer than every training text: split (into sentences), "
            "split-or-refuse, refuse or keep."
        ),
    ] = "split"
    heatmap: Annotated[bool, Help("Show the attention after each translation.")] = False
    plot: Annotated[
        Path | None, Help("Draw the attention to this .svg, .png or .pdf file, numbered if there are several lines.")
    ] = None
    by: By = "auto"
    tag: Tag = None
    tree: Annotated[Path | None, Help("Write the search trees to this file, one JSON object per line.")] = None
    batch_tokens: BatchTokens = 8192
    chunk: Chunk = 512
    jsonl_in: Annotated[bool, Help("Read one JSON object per line, whatever the file's name.", group=_JSON)] = False
    field: Annotated[str, Help("The JSON field to translate; a.b is the field b inside a.", group=_JSON)] = "source"
    jsonl: Annotated[
        bool, Help("Print one JSON object per line, with scores, tokens and the alignment.", group=_JSON)
    ] = False
    into: Annotated[str | None, Help("Put all new fields into this field of the object.", group=_JSON)] = None
    constraints_file: Annotated[
        Path | None,
        Help(
            'A file with one JSON object of constraints per line, such as {"include": ["cat"]}; a blank line has none.',
            group="Required and excluded words",
            flags=("--constraints",),
        ),
    ] = None
    replace_unknown: Annotated[
        bool, Help("Replace each unknown token with the source word that the model attended to.", group=_UNKNOWN)
    ] = False
    dictionary: Annotated[
        Path | None, Help("Like --replace-unknown, through a dictionary of word TAB translation.", group=_UNKNOWN)
    ] = None
    mbr: Annotated[
        Literal["chrf", "bleu"] | None,
        Help("Choose the hypothesis most similar to the others by chrF or BLEU (minimum Bayes risk).", group=_CHOICE),
    ] = None
    rerank_weights: Annotated[
        str | None,
        Help("Reranking weights: a file written by `saccade rerank`, or model=1,length=0,channel=0.5.", group=_CHOICE),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.jsonl and self.heatmap:
            raise OptionError("jsonl", "is for programs and --heatmap for people; give one of them")
        if self.plot is not None and self.plot.suffix not in FIGURES:
            raise OptionError("plot", f"{self.plot}: expected a name that ends in {', '.join(FIGURES)}")


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(Checked):
    """How `saccade score` writes."""

    out: Annotated[
        Path | None, Help("Write to this file at the end. Repeat an interrupted command to continue where it stopped.")
    ] = None
    restart: Restart = False
    value: Annotated[
        Literal["log-prob", "mean", "perplexity"],
        Help("The score to print: log-prob (of the whole target), mean (per token) or perplexity."),
    ] = "log-prob"
    jsonl: Annotated[bool, Help("Print one JSON object per line, with all scores of tokens and words.")] = False
    summary: Annotated[Path | None, Help("Write the totals to this file, as JSON.")] = None
    tag: Tag = None
    batch_tokens: BatchTokens = 4096
    chunk: Chunk = 512
