"""What the laws are asked of: every model, with every attention at each of its sites, and each of its options."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor

from saccade.attention import ATTENTIONS
from saccade.models import ALL_MODELS, Seq2Seq
from saccade.models.contract import map_tensors, take_rows
from saccade.text import BOS

VOCABULARY, B, N, S, T = 11, 3, 2, 5, 4
Model = Seq2Seq[Any, Any]

SMALL: dict[str, dict[str, Any]] = {
    "aligned-rnn": {"embedding": 6, "hidden": 8},
    "kalchbrenner2013": {"embedding": 6, "hidden": 8, "widest": 3},
    "cho2014": {"embedding": 6, "hidden": 8, "maxout": 5},
    "sutskever2014": {"embedding": 6, "hidden": 8, "layers": 2},
    "bahdanau2014": {"embedding": 6, "hidden": 8, "align": 8, "maxout": 5},
    "luong2015": {"embedding": 6, "hidden": 8, "layers": 1},
    "gehring2017": {"embedding": 8, "hidden": 6, "encoder_layers": 1, "decoder_layers": 1},
    "vaswani2017": {"width": 8, "inner": 12, "heads": 2, "encoder_layers": 1, "decoder_layers": 1},
    "russin2019": {"semantics": 6, "embedding": 5, "hidden": 8, "layers": 1},
    "wu2019": {"embedding": 6, "hidden": 8, "layers": 1},
    "elman1990": {"embedding": 6, "hidden": 8},
    "bengio2003": {"order": 3, "embedding": 6, "hidden": 8},
    "cheng2016": {"embedding": 6, "hidden": 8, "align": 8},
    "radford2018": {"width": 8, "inner": 12, "heads": 2, "layers": 1},
}
ONE_WAY: dict[str, Any] = {"bidirectional": False}
CONDITIONAL: dict[str, Any] = {"decoder": "conditional"}
TWO_DEEP: dict[str, Any] = {"encoder_layers": 2, "decoder_layers": 2}

UNPROJECTED = {"luong2015-global-dot", "luong2015-local-m-dot", "luong2015-local-p-dot", "weightless"}
# Their window is set by the length of all that may be read, which in a decoder is not known yet.
PREDICTED = {name for name in ATTENTIONS if "local-p" in name}
UNFIT: dict[tuple[str, str], set[str]] = {  # annotations of two directions are wider than the decoder's state
    ("bahdanau2014", "attention"): UNPROJECTED,
    ("luong2015", "attention"): set(),
    ("gehring2017", "attention"): set(),
    ("vaswani2017", "encoder_attention"): set(),
    ("vaswani2017", "decoder_attention"): PREDICTED,
    ("vaswani2017", "cross_attention"): set(),
    ("russin2019", "attention"): set(),
    ("cheng2016", "attention"): {  # a dot product needs queries as wide as the states; an LSTM, values as they are
        *UNPROJECTED,
        *("vaswani2017", "vaswani2017-causal", "shaw2018", "liu2018", "shazeer2019", "beltagy2020", "t5", "su2021"),
        *("press2022", "ainslie2023", "miller2023", "ramapuram2024"),
    },
    ("radford2018", "attention"): PREDICTED,
}


# In the quick tests every attention meets bahdanau2014, and one of each kind the other models; the rest is slow.
COMMON = {"luong2015-global-dot", "luong2015-local-p-general", "luong2015-global-location", "graves2014", "xu2015"}
COMMON |= {"tu2016", "martins2016", "raffel2017", "vaswani2017", "shaw2018", "liu2018"}


@dataclass(frozen=True)
class Case:
    model: str
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([self.model, *(f"{key}={value}" for key, value in self.options.items())])

    def __hash__(self) -> int:
        return hash(str(self))


def _recurrent() -> list[Case]:
    aligned: list[dict[str, Any]] = [
        {},
        {"feedback": True, "layers": 2, "bidirectional": True, "cell": "lstm"},
        {"feedback": True, "cell": "gru", "tie": "target"},
        {"tie": "all"},
    ]
    kalchbrenner: list[dict[str, Any]] = [
        {},
        {"widest": 2, "cell": "gru", "first": "last", "tie": "target"},
        {"widest": 9, "cell": "lstm", "first": "mean", "hidden": 6, "tie": "all"},
    ]
    cho: list[dict[str, Any]] = [{}, {"bidirectional": True}, {"layers": 2, "tie": "target"}, {"tie": "all"}]
    cho += [{"bidirectional": True, "layers": 2, "cell": "lstm"}, {"maxout": 6, "cell": "tanh", "first": "zero"}]
    cho += [{"bidirectional": True, "cell": "lstm", "first": "mean"}]
    sutskever: list[dict[str, Any]] = [
        {},
        {"cell": "gru", "reverse": False, "first": "mean", "tie": "target"},
        {"cell": "tanh", "hidden": 6, "tie": "all"},
    ]
    # A dot product needs annotations as wide as the decoder's state: those of one direction.
    bahdanau: list[dict[str, Any]] = [
        ONE_WAY | CONDITIONAL,
        {"layers": 2, "tie": "target"},
        {"maxout": 6, "tie": "all"},
        {"cell": "lstm", "first": "mean"},
        {"cell": "tanh", "first": "zero"},
        CONDITIONAL | {"cell": "lstm"},
    ]
    bahdanau += [({} if name not in UNPROJECTED else ONE_WAY) | {"attention": name} for name in ATTENTIONS]
    bahdanau += [
        CONDITIONAL | ({} if name not in UNPROJECTED else ONE_WAY) | {"attention": name}
        for name in ("bahdanau2014", "luong2015-global-dot", "luong2015-local-p-general", "tu2016", "raffel2017")
    ]
    # Every attention once, the options in turn.
    turns: list[dict[str, Any]] = [{}, {"bidirectional": True}, {"feeding": False}, {"cell": "gru", "reverse": False}]
    luong = [turns[i % len(turns)] | {"attention": name} for i, name in enumerate(ATTENTIONS)]
    luong += [
        {"layers": 2, "bidirectional": True, "tie": "target"},
        {"cell": "gru", "reverse": False},
        {"layers": 2, "cell": "tanh", "first": "mean", "feeding": False, "attention": "tu2016"},
        {"layers": 2, "first": "zero", "hidden": 6, "tie": "all", "attention": "luong2015-local-p-general"},
    ]
    wu: list[dict[str, Any]] = [{}, {"layers": 2, "jump": 1, "tie": "target"}, {"jump": 9, "cell": "gru", "tie": "all"}]
    return [
        *(Case("aligned-rnn", one) for one in aligned),
        *(Case("kalchbrenner2013", one) for one in kalchbrenner),
        *(Case("cho2014", one) for one in cho),
        *(Case("sutskever2014", one) for one in sutskever),
        *(Case("bahdanau2014", one) for one in bahdanau),
        *(Case("luong2015", one) for one in luong),
        *(Case("wu2019", one) for one in wu),
    ]


def _russin() -> list[Case]:
    turns: list[dict[str, Any]] = [
        {},
        {"feedback": True},
        {"syntax_acts": True, "nonlinear": True},
        {"feedback": True, "cell": "gru", "surroundings": False},
    ]
    every = [turns[i % len(turns)] | {"attention": name} for i, name in enumerate(ATTENTIONS)]
    every += [
        {"layers": 2, "sequential": True, "first": "mean", "tie": "target", "attention": "tu2016"},
        {"feedback": True, "nonlinear": True, "cell": "tanh", "first": "zero", "tie": "all"},
    ]
    return [Case("russin2019", one) for one in every]


def _language_models() -> list[Case]:
    elman: list[dict[str, Any]] = [{}, {"cell": "gru", "layers": 2}, {"cell": "lstm", "hidden": 6, "tie": "target"}]
    bengio: list[dict[str, Any]] = [{}, {"order": 2, "direct": False}, {"order": 9}]  # wider than the texts, too
    cheng: list[dict[str, Any]] = [
        *({"attention": name} for name in sorted(COMMON - UNFIT["cheng2016", "attention"])),
        {"layers": 2, "embedding": 8, "tie": "target"},
    ]
    radford: list[dict[str, Any]] = [
        *({"attention": name} for name in sorted(COMMON - UNFIT["radford2018", "attention"])),
        *({"layers": 2, "norm": place, "norm_kind": kind} for place, kind in (("post", "layer"), ("pre", "rms"))),
        *({"layers": 2, "positions": kind} for kind in ("sinusoidal", "rotary", "none")),
        {"layers": 2, "longest": 3, "tie": "none"},  # shorter than the texts
        *({"feed_forward": kind} for kind in ("relu", "gated")),
        {"stochastic_depth": 0.5},  # in training alone
    ]
    by_model = {"elman1990": elman, "bengio2003": bengio, "cheng2016": cheng, "radford2018": radford}
    return [Case(model, options) for model, cases in by_model.items() for options in cases]


def _cases() -> list[Case]:
    gehring: list[dict[str, Any]] = [{"attention": name} for name in ATTENTIONS]
    gehring += [
        TWO_DEEP | {"kernel": 2, "tie": "target", "attention": "tu2016"},
        TWO_DEEP | {"kernel": 1, "tie": "all", "longest": 3},  # shorter than the sentences
        {"kernel": 4, "weight_norm": False},
    ]
    vaswani: list[dict[str, Any]] = [
        {site: name}
        for (model, site), unfit in UNFIT.items()
        for name in ATTENTIONS
        if model == "vaswani2017" and name not in unfit
    ]
    options: list[dict[str, Any]] = [
        *({"norm": place, "norm_kind": kind} for place in ("pre", "post") for kind in ("layer", "rms", "none")),
        *({"positions": positions} for positions in ("learned", "rotary", "none")),
        {"positions": "learned", "longest": 3},  # shorter than the sentences
        *({"feed_forward": kind} for kind in ("gelu", "gated", "convolution", "none")),
        {"feed_forward": "none", "norm": "post"},
        {"feed_forward": "convolution", "norm": "post", "kernel": 4},
        {"feed_forward": "convolution", "kernel": 1},
        {"stochastic_depth": 0.5},  # in training alone
        {"first_weights": "small"},
        *({"tie": tie} for tie in ("none", "all")),
    ]
    alone: list[dict[str, Any]] = [  # two layers without residuals make all words alike
        {"residual": False},
        {"residual": False, "norm": "post"},
        {"residual": False, "norm_kind": "none", "positions": "none"},
    ]
    pairs: list[dict[str, Any]] = [  # of attentions, and of an attention with an option that acts on it
        {"encoder_attention": "beltagy2020", "decoder_attention": "press2022", "cross_attention": "bahdanau2014"},
        {"decoder_attention": "shaw2018", "cross_attention": "tu2016"},
        {"decoder_attention": "tu2016", "cross_attention": "chorowski2015"},
        {"decoder_attention": "bahdanau2014", "cross_attention": "raffel2017", "positions": "rotary"},
        {"decoder_attention": "ainslie2023", "cross_attention": "ainslie2023", "positions": "rotary"},
        {"encoder_attention": "su2021", "decoder_attention": "su2021", "positions": "rotary"},
        {"cross_attention": "luong2015-local-p-general", "feed_forward": "convolution"},
    ]
    return [
        *_recurrent(),
        *(Case("gehring2017", one) for one in gehring),
        *(Case("vaswani2017", one) for one in vaswani + alone),
        *(Case("vaswani2017", TWO_DEEP | one) for one in options + pairs),
        *_russin(),
        *_language_models(),
        *(Case(name) for name in ALL_MODELS if name not in SMALL),
    ]


CASES = _cases()
RARE = {
    case
    for case in CASES
    if case.model != "bahdanau2014"
    and [site for site in case.options if "attention" in site]
    and not COMMON & {name for site, name in case.options.items() if "attention" in site}
}
UNFED = [  # by the target
    case for case in CASES if case.model in ("aligned-rnn", "russin2019") and not case.options.get("feedback")
]


def build(case: Case, vocabulary: int = VOCABULARY, seed: int = 1) -> Model:
    """In evaluation mode, with parameters large enough that every part matters; padding's vectors too."""
    torch.manual_seed(seed)
    cls = ALL_MODELS[case.model]
    small = SMALL.get(case.model)
    config = cls.PRESETS["tiny"] if small is None else cls.config_type(**small | case.options)
    model = cls(config, vocabulary, vocabulary).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.5)
    return model


@cache
def built(case: Case) -> Model:
    """Shared between tests: leave it as it is."""
    return build(case)


@cache
def forced(case: Case) -> Tensor:
    """Logits (B, T, V) of `sentences()`"""
    with torch.no_grad():
        logits: Tensor = built(case)(*sentences())
    return logits


def sentences(seed: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """source (B, S), readable (B, S): of 3, 5 and 1 tokens, target (B, T) from the start symbol on"""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(0, VOCABULARY, (B, S), generator=generator)  # special ids, too, are only ids
    target = torch.randint(4, VOCABULARY, (B, T), generator=generator)
    target[:, 0] = BOS
    return source, torch.arange(S) < torch.tensor([[3], [S], [1]]), target


def leaves(tree: object) -> list[Tensor]:
    """Every tensor of a state, depth first."""
    tensors: list[Tensor] = []
    map_tensors(lambda tensor: tensors.append(tensor) or tensor, tree)  # type: ignore[func-returns-value]
    return tensors


def stepped(model: Model, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
    """Logits (R, T, V) of targets (R, T), one step after another; R/B hypotheses of each sentence"""
    rows = torch.arange(target.shape[0])
    fixed, moving = model.start(source, readable)
    moving = take_rows(moving, rows // (target.shape[0] // source.shape[0]))
    steps = []
    for t, token in enumerate(target.unbind(1)):
        logits, moving = model.step(token, torch.full_like(rows, t), fixed, moving)
        steps.append(logits)
    return torch.stack(steps, 1)
