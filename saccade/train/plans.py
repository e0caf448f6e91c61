"""What the automatic recipe chooses from: plans for each model, best first, and the training that suits each of them.

Every plan says how long it must be trained to score higher than the next, quicker one. docs/recipes.md has the runs
behind the numbers.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from saccade import config
from saccade.models.table import find_model
from saccade.text import Policy
from saccade.train.facts import Facts
from saccade.train.training_options import Training

_R_DROP = 5.0
_FEWEST_PER_EPOCH = 50  # updates; batches shrink until an epoch has this many
_SMALLEST_BATCH = 250  # tokens
_MANY_PAIRS = 100_000
FEW_PAIRS = 10_000
FEW_ON_GPU = 20_000  # pairs, with which an RNN with attention, which is fast there, scores higher than a Transformer
_MANY_WORDS = 10_000  # whose pronunciation a wider model learns
_MANY_EPOCHS = 30  # in which a model may overfit, so that validations must choose
SHORT = 10  # epochs on a CPU, in which nothing is learnt by heart: without dropout, and in larger steps, more is learnt
_LARGER = 1.5  # times the usual learning rate, for at least
_LARGER_FROM = 20_000  # pairs
_ENOUGH_TO_CHOOSE_BY = 4_000  # pairs, of which a twentieth is held out
WORTHWHILE = 1_500  # updates; with fewer, smaller batches learn more


class Schedule(NamedTuple):
    """How long a model is trained, and how long it must be to be chosen."""

    epochs: float  # to train for, if there is time
    least_epochs: float = 0.0  # with fewer, the next plan scores higher
    least_updates: int = 0  # likewise
    r_drop: float = 0.0
    on_cpu: Literal["always", "with a budget", "with hours"] = "always"


class ModelPlan(NamedTuple):
    settings: Any  # the model's Config
    size: str  # for people
    schedule: Schedule


class TransformerSize(NamedTuple):
    width: int
    inner: int
    layers: int  # of the encoder, and of the decoder
    schedule: Schedule
    norm: Literal["pre", "post"] = "pre"

    def __str__(self) -> str:
        post = ", post-norm" * (self.norm == "post")
        return f"width {self.width}, inner {self.inner}, 4 heads, {self.layers} + {self.layers} layers{post}"


_FOR_MANY_PAIRS = (
    TransformerSize(512, 1024, 6, Schedule(40, least_epochs=30, r_drop=_R_DROP, on_cpu="with hours")),
    TransformerSize(256, 512, 6, Schedule(40, least_epochs=30, r_drop=_R_DROP, on_cpu="with hours")),
    TransformerSize(512, 1024, 6, Schedule(32, least_epochs=20, on_cpu="with hours")),
    TransformerSize(256, 512, 6, Schedule(32, least_epochs=5, on_cpu="with hours")),
    TransformerSize(256, 512, 4, Schedule(32, least_updates=10_000)),
    TransformerSize(128, 256, 3, Schedule(32, least_updates=5_000)),
    TransformerSize(128, 256, 2, Schedule(32)),
)
_FOR_FEWER_PAIRS = (
    TransformerSize(256, 512, 6, Schedule(200, least_epochs=60, r_drop=_R_DROP, on_cpu="with hours"), norm="post"),
    TransformerSize(256, 512, 4, Schedule(80, least_epochs=30, on_cpu="with hours")),
    TransformerSize(128, 256, 3, Schedule(32, least_updates=5_000)),
    TransformerSize(128, 256, 2, Schedule(32)),
)
_FOR_FEW_PAIRS = (
    TransformerSize(256, 512, 6, Schedule(200, least_epochs=60, r_drop=_R_DROP, on_cpu="with hours")),
    TransformerSize(128, 256, 3, Schedule(200, least_epochs=45, r_drop=_R_DROP, on_cpu="with a budget")),
    TransformerSize(128, 256, 3, Schedule(32, least_updates=5_000)),
    TransformerSize(128, 256, 2, Schedule(32)),
)
_FOR_RULES = (  # tasks without end, whose updates `_updates` counts
    TransformerSize(128, 256, 4, Schedule(1, on_cpu="with hours")),
    TransformerSize(128, 256, 3, Schedule(1, least_updates=5_000)),
    TransformerSize(128, 256, 2, Schedule(1)),
)


def list_plans(name: str, preset: Any, facts: Facts, tie: str) -> list[ModelPlan]:
    """The plans for a model, best first; only the user's `preset`, if there is one."""
    kind, usual = find_model(name), usual_schedule(name)
    if isinstance(preset, str) and preset in kind.PRESETS:
        return [ModelPlan(kind.PRESETS[preset], f"preset {preset}", usual)]
    dropout = 0.1 if facts.pairs > 500_000 or facts.texts else 0.3 if facts.pairs > 5_000 else 0.2
    dropout = 0.0 if facts.rule else 0.4 if name == "wu2019" else dropout

    def plan(preset: str, schedule: Schedule = usual, size: str = "", **changes: Any) -> ModelPlan:
        settings = config.to_dict(kind.PRESETS[preset]) | changes | {"dropout": dropout}
        settings = config.from_dict(kind.config_type, settings, name, "model")
        return ModelPlan(settings, size or f"preset {preset}", schedule)

    if name == "vaswani2017":
        return [
            plan(
                "tiny",
                size.schedule,
                str(size),
                width=size.width,
                inner=size.inner,
                heads=4,
                encoder_layers=size.layers,
                decoder_layers=size.layers,
                norm=size.norm,
                tie=tie,
            )
            for size in _sizes_of_vaswani2017(facts)
        ]
    if name == "wu2019":
        return _plans_of_wu2019(plan, facts)
    if not facts.cuda:
        return [plan("small", usual._replace(least_updates=WORTHWHILE)), plan("tiny")]
    if facts.rule:
        return [plan("small")]
    r_drop = Schedule(60, least_epochs=25, r_drop=_R_DROP)
    schedules = [usual] if facts.judge == "exact" else [r_drop, usual]  # R-Drop did not pay for 800 words
    if name == "bahdanau2014":
        sizes = {"embedding": 256, "hidden": 512, "align": 256, "maxout": 256}
        size = ", ".join(f"{key} {value}" for key, value in sizes.items())
        return [plan("base", schedule, size, **sizes, tie="target") for schedule in schedules]
    preset = "base" if facts.pairs >= 20_000 else "small"
    return [plan(preset, schedule._replace(least_updates=WORTHWHILE)) for schedule in schedules] + [plan("small")]


def _sizes_of_vaswani2017(facts: Facts) -> tuple[TransformerSize, ...]:
    if facts.rule:
        return _FOR_RULES
    if facts.pairs >= _MANY_PAIRS:
        return _FOR_MANY_PAIRS
    return _FOR_FEWER_PAIRS if facts.pairs >= FEW_PAIRS else _FOR_FEW_PAIRS


def _plans_of_wu2019(plan: Callable[..., ModelPlan], facts: Facts) -> list[ModelPlan]:
    enough = usual_schedule("wu2019")._replace(least_updates=WORTHWHILE)
    quicker = [plan("base", enough), plan("tiny")]
    if facts.rule:
        return quicker
    repeated = enough._replace(least_epochs=20, r_drop=_R_DROP)
    consistent = plan("base", repeated, "preset base with 2 layers in the encoder", layers=2)
    if facts.pairs < _MANY_WORDS:
        return [consistent, *quicker]
    wide = Schedule(48, least_epochs=25, r_drop=_R_DROP, on_cpu="with hours")
    size = "embedding 256, hidden 512, 2 layers in the encoder"
    return [plan("base", wide, size, embedding=256, hidden=512, layers=2), consistent, *quicker]


def usual_schedule(name: str) -> Schedule:
    return Schedule(32 if is_parallel(name) else 20)


def is_parallel(name: str) -> bool:
    """Whether the model computes all positions of a target at once; it then needs more updates than an RNN."""
    return name in ("vaswani2017", "gehring2017")


def plan_training(
    name: str, plan: ModelPlan, facts: Facts, policy: Policy, *, tokens: int | None = None, updates: int | None = None
) -> Training:
    """The settings for this many `updates` of this many `tokens`; by default, as many as suit the data."""
    epoch = facts.pairs * facts.tokens(policy)
    tokens = tokens or _batch_tokens(name, epoch, facts)
    most = _updates(name, plan.schedule.epochs * epoch / tokens, facts)
    updates = updates or most
    is_hurried = not facts.cuda and updates < most and updates * tokens < _MANY_EPOCHS * epoch
    rate = _learning_rate(name, plan.settings, tokens, facts)
    is_short = is_hurried and updates * tokens < SHORT * epoch
    if is_short and name == "vaswani2017" and facts.pairs >= _LARGER_FROM:
        rate = float(f"{_LARGER * rate:.1e}")
    # A CPU in a hurry can translate too few sentences for BLEU to choose by; in few epochs, the loss only falls.
    by_loss = is_hurried and facts.judge == "bleu"
    # On a few held-out words, scores differ by chance: among many validations, a lucky early one would win.
    few_words = facts.judge == "exact" and facts.pairs < _ENOUGH_TO_CHOOSE_BY
    checks = 4 if few_words else 3 if by_loss else 8 if is_hurried else 20
    return Training(
        lr=rate,
        warmup=200 if facts.rule else max(20, _warmup(name, plan.settings, updates)),
        tokens=tokens,
        smoothing=0.0 if facts.rule else 0.1,
        r_drop=plan.schedule.r_drop,
        ema=round(1 - 1 / max(20, min(2_000, 0.1 * updates)), 5),  # averages over the last tenth of the run
        max_steps=most,
        check_every=max(20, min(1000, updates // checks)),
        judge="loss" if by_loss else facts.judge,
        judge_on=1000 if facts.cuda else 100 if is_hurried else 200,
        precision="fp32" if name == "wu2019" else "auto",  # its paths are sums of many small probabilities
    )


def _warmup(name: str, settings: Any, updates: int) -> int:
    if getattr(settings, "norm", None) == "post":  # whose first gradients are larger
        return min(2_000, updates // 4)
    return min(1_000 if is_parallel(name) else 500, updates // 8)


def _batch_tokens(name: str, epoch: float, facts: Facts) -> int:
    if facts.rule:
        return 4096 if facts.cuda else 600
    few = facts.pairs < FEW_PAIRS or name == "wu2019"  # which computes all outputs for every place of the source
    largest = (4096 if facts.cuda else 600) if few else 8192 if facts.cuda else 1500
    return max(_SMALLEST_BATCH, min(largest, 50 * round(epoch / _FEWEST_PER_EPOCH / 50)))


def _updates(name: str, wanted: float, facts: Facts) -> int:
    """Thousands of updates for small data, and a limit for large data."""
    if facts.rule:
        return 20_000 if facts.cuda else 5_000
    fewest, most = (5_000, 40_000) if is_parallel(name) else (3_000, 30_000)
    if not facts.cuda:
        fewest, most = fewest - 1_000, most // 3
    return max(fewest, min(most, 100 * round(wanted / 100)))


def _learning_rate(name: str, settings: Any, tokens: int, facts: Facts) -> float:
    if name == "vaswani2017":
        rate = 4e-3 * (128 / settings.width) * (min(tokens, 4096) / 4096) ** 0.15  # 3e-3 for batches of 600
        return float(f"{rate:.1e}")
    if name == "gehring2017":
        return 1e-3
    if name == "wu2019":
        return 3e-3 if settings.hidden <= 256 else 2e-3
    return 4e-3 if facts.rule and name == "bahdanau2014" else 2e-3
