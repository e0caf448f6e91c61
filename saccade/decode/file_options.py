"""The options of commands that run a trained model. They load no torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from saccade.ranges import Checked, Count, Help, OptionError, Seed

TooLong = Literal["split", "split-or-refuse", "refuse", "keep"]
FIGURES = (".svg", ".png", ".pdf")
_JSON, _UNKNOWN, _CHOICE, _ENSEMBLE = "JSON", "Unknown words", "Choosing among the hypotheses", "Ensemble"

BatchTokens = Annotated[Count, Help("Tokens × hypotheses per batch; a smaller number needs less memory.")]
Chunk = Annotated[Count, Help("Number of lines that are processed, and saved, together.")]
By = Annotated[
    Literal["auto", "piece", "word"],
    Help("Show attention by word or by piece (token). auto: by piece for character models and single words."),
]
Tag = Annotated[str | None, Help("A tag such as <fr> to put before every source, for a model trained with tags.")]
Restart = Annotated[bool, Help("Start again, and drop the output of an interrupted command.")]


@dataclass(frozen=True, kw_only=True)
class PairOptions(Checked):
    """The pairs that a command reads."""

    pairs: Annotated[
        str, Help("A TSV file, the sources of two parallel files, - for standard input, or task:NAME.", argument=True)
    ]
    targets: Annotated[Path | None, Help("The targets, where PAIRS has only the sources.", argument=True)] = None
    count: Annotated[Count, Help("Number of pairs of a task's test split.")] = 500
    seed: Annotated[Seed, Help("Seed of a task's pairs.")] = 1


@dataclass(frozen=True, kw_only=True)
class EnsembleOptions(Checked):
    ensemble: Annotated[
        tuple[Path, ...], Help("The folder of another model to translate with. Can be repeated.", group=_ENSEMBLE)
    ] = ()
    average: Annotated[
        Literal["probabilities", "log-probabilities"],
        Help("Average the models' probabilities, or log-probabilities.", group=_ENSEMBLE),
    ] = "probabilities"
    weights: Annotated[
        str, Help("The weight of each model in order, such as 0.7,0.3; all are equal by default.", group=_ENSEMBLE)
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

    right_to_left: Annotated[Path | None, Help("A model that writes from right to left.", group=_CHOICE)] = None
    channel: Annotated[
        Path | None, Help("A model of the other direction, for log p(source | translation).", group=_CHOICE)
    ] = None
    prior: Annotated[Path | None, Help("A model of targets alone, trained with one fixed source.", group=_CHOICE)] = (
        None
    )
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
        Path | None, Help("Write to this file once all is done. An interrupted command continues where it stopped.")
    ] = None
    restart: Restart = False
    too_long: Annotated[
        TooLong,
        Help(
            "What to do with a text longer than any that the model was trained on: split (into sentences), "
            "split-or-refuse, refuse or keep."
        ),
    ] = "split"
    heatmap: Annotated[bool, Help("Show the attention after each translation.")] = False
    plot: Annotated[
        Path | None, Help("Draw the attention to this file: out.svg, .png or .pdf; out-1.svg … for several lines.")
    ] = None
    by: By = "auto"
    tag: Tag = None
    tree: Annotated[Path | None, Help("Write the tree of each search to this file, one JSON object per line.")] = None
    batch_tokens: BatchTokens = 8192
    chunk: Chunk = 512
    jsonl_in: Annotated[bool, Help("Read one JSON object per line, whatever the file's name.", group=_JSON)] = False
    field: Annotated[str, Help("The field of an object to translate; a.b is the field b inside a.", group=_JSON)] = (
        "source"
    )
    jsonl: Annotated[
        bool, Help("Print one JSON object per line, with scores, tokens and the alignment.", group=_JSON)
    ] = False
    into: Annotated[str | None, Help("Put all new fields into this one field.", group=_JSON)] = None
    constraints_file: Annotated[
        Path | None,
        Help(
            'A file with the constraints of each line as JSON, such as {"include": ["cat"], "prefix": ""}, or blank.',
            group="Required and excluded words",
            flags=("--constraints",),
        ),
    ] = None
    replace_unknown: Annotated[
        bool,
        Help("Replace each unknown token by the source word that the model attended to.", group=_UNKNOWN),
    ] = False
    dictionary: Annotated[
        Path | None, Help("Translate these words by a dictionary first: word TAB translation.", group=_UNKNOWN)
    ] = None
    mbr: Annotated[
        Literal["chrf", "bleu"] | None,
        Help("Choose the hypothesis most like the others, by chrf or bleu (minimum Bayes risk).", group=_CHOICE),
    ] = None
    rerank_weights: Annotated[
        str | None,
        Help(
            "Weights of the models that rerank: a file of `saccade rerank`, or model=1,length=0,channel=0.5.",
            group=_CHOICE,
        ),
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
        Path | None, Help("Write to this file once all is done. An interrupted command continues where it stopped.")
    ] = None
    restart: Restart = False
    value: Annotated[
        Literal["log-prob", "mean", "perplexity"],
        Help("The score to print: log-prob (of the whole target), mean (per token) or perplexity."),
    ] = "log-prob"
    jsonl: Annotated[bool, Help("Print one JSON object per line, with all scores of tokens and words.")] = False
    summary: Annotated[Path | None, Help("Write the scores of the whole corpus to this file, as JSON.")] = None
    tag: Tag = None
    batch_tokens: BatchTokens = 4096
    chunk: Chunk = 512
