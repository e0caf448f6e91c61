"""The table [train] of a recipe: how a model is trained."""

from dataclasses import dataclass
from typing import Annotated, Literal

from saccade.ranges import (
    BetweenZeroAndOne,
    Checked,
    Count,
    CountOrZero,
    Help,
    NotNegative,
    OptionError,
    Positive,
    Range,
    Seed,
    Share,
    UpToOne,
)

_Auto = Literal["auto"]
_Place = Annotated[int, Range(least=-1_000, most=1_000)]  # in a list, from 0, or from its end by -1
_Precision = Literal["auto", "fp32", "bf16", "fp16"]
_Schedule = Literal["constant", "inverse-sqrt", "cosine", "linear", "staircase", "plateau"]
_Judge = Literal["bleu", "chrf", "exact", "loss", "accuracy", "f1"]
_ScheduledSampling = Literal["linear", "exponential", "inverse-sigmoid"]
_Threads = Annotated[int, Range(least=1, most=1_000)] | Literal["auto"] | None
MEASURED = ("tokens", "threads")  # what the run decides once, when it begins, if it is "auto"


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
    word_dropout: Annotated[Share, Help("Share of the tokens read, on both sides, that are hidden in an update.")] = 0.0
    r_drop: Annotated[NotNegative, Help("Weight of R-Drop: predictions with different dropout agree; often 5.")] = 0.0
    simcut: Annotated[NotNegative, Help("Weight of SimCut: predictions agree if tokens are hidden; often 3.")] = 0.0
    simcut_share: Annotated[Share, Help("Share of the tokens that SimCut hides.")] = 0.05
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
    judge: Annotated[_Judge, Help("The metric that chooses the best model; accuracy or f1 is for labels.")] = "bleu"
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
        if self.r_drop and self.simcut:
            raise OptionError("simcut", "is an alternative to r_drop: set one of them to 0")
        if self.guided and (self.r_drop or self.simcut):
            raise OptionError("guided", "does not go with r_drop or simcut: set guided = 0, or both of them to 0")

    @property
    def batch_tokens(self) -> int:
        """`tokens`, or a usual number while it is "auto"."""
        return self.tokens if isinstance(self.tokens, int) else 4096
