"""Additive scores against dot products with and without the scale 1/√d, as the width grows."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from saccade.attention import Additive, Attention, Dot, ScaledDot
from saccade.attention.scores import Score
from saccade.inspect.chart import Chart, line_chart
from saccade.language import Bilingual
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.study.training import train_on_tensors

_KEYS = 16  # slots to choose from, in all measurements
_QUERIES = 512
_SYMBOLS = 40  # different keys and values of the lookup task
_EMBEDDING = 64
_TEST = 2000
WIDTHS, QUICK_WIDTHS = (16, 64, 256, 1024), (16, 1024)
SCORES: Mapping[str, Bilingual] = {
    "additive": Bilingual(en="additive, v·tanh(q + k)", zh="加性，v·tanh(q + k)"),
    "scaled": Bilingual(en="dot product with the scale, q·k / √d", zh="带缩放的点积，q·k / √d"),
    "dot": Bilingual(en="dot product, q·k", zh="点积，q·k"),
}


def make_score(name: str, width: int) -> Score:
    if name == "additive":
        return Additive(width)
    return ScaledDot() if name == "scaled" else Dot()


class Lookup(nn.Module):
    """A query symbol asks one attention for the value that stands beside the same symbol among the keys."""

    def __init__(self, score: str, width: int) -> None:
        super().__init__()
        self.keys, self.values = nn.Embedding(_SYMBOLS, _EMBEDDING), nn.Embedding(_SYMBOLS, _EMBEDDING)
        self.attention = Attention(
            query_dim=_EMBEDDING,
            memory_dim=_EMBEDDING,
            value_dim=_EMBEDDING,
            width=width,
            score=make_score(score, width),
            project="qk",
        )
        for linear in (self.attention.of_queries, self.attention.of_keys):
            assert isinstance(linear, nn.Linear)
            nn.init.normal_(linear.weight, std=_EMBEDDING**-0.5)  # components of q and k then have variance 1
        self.output = nn.Linear(_EMBEDDING, _SYMBOLS)

    def forward(self, keys: Tensor, values: Tensor, query: Tensor) -> Tensor:
        """Symbols: keys and values (B, S), query (B,) → logits (B, symbols)"""
        memory = self.attention.remember(self.keys(keys), values=self.values(values))
        context = self.attention(self.keys(query)[:, None], memory).context
        logits: Tensor = self.output(context.squeeze(1))
        return logits


def draw_lookups(count: int, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Keys (N, S), all different, values (N, S), queries (N,), answers (N,)"""
    random = torch.Generator().manual_seed(seed)
    keys = torch.rand(count, _SYMBOLS, generator=random).argsort(-1)[:, :_KEYS]
    values = torch.randint(_SYMBOLS, (count, _KEYS), generator=random)
    asked = torch.randint(_KEYS, (count, 1), generator=random)
    return keys, values, keys.gather(1, asked).squeeze(1), values.gather(1, asked).squeeze(1)


def softmax_gradient(weights: Tensor) -> Tensor:
    """The size of the derivative of a softmax with weights α (…, S): the Frobenius norm of diag(α) − α αᵀ."""
    squares = weights.square()
    total = squares.sum(-1)
    return (total - 2 * (squares * weights).sum(-1) + total.square()).clamp_min(0).sqrt()


def measure_start(score: str, width: int) -> dict[str, float]:
    """Before training: queries and keys of independent components with mean 0 and variance 1."""
    attention = Attention(query_dim=width, memory_dim=width, width=width, score=make_score(score, width), project="")
    queries, keys = torch.randn(1, _QUERIES, width), torch.randn(1, _KEYS, width)
    with torch.no_grad():
        memory = attention.remember(keys)
        scores = attention.score_slots(queries, memory, torch.zeros(1, 1, dtype=torch.long)).scores
        weights = attention(queries, memory, weights=True).weights
    entropy = -(weights * weights.clamp_min(1e-30).log2()).sum(-1)
    return {
        "variance": float(scores.var()),
        "entropy": float(entropy.mean()),
        "gradient": float(softmax_gradient(weights).mean()),
    }


def measure_quality(score: str, width: int, *, updates: int, seed: int) -> float:
    """The percentage of right answers to new questions after a short training."""
    torch.manual_seed(seed)
    model = Lookup(score, width)

    def loss(module: nn.Module, tensors: tuple[Tensor, ...]) -> Tensor:
        *asked, answers = tensors
        return cross_entropy(module(*asked), answers, reduction="sum")

    train_on_tensors(model, loss, draw_lookups(updates * 32, seed), rows=64, updates=updates, seed=seed, lr=2e-3)
    *asked, answers = draw_lookups(_TEST, seed + 1000)
    with torch.no_grad():
        right = model(*asked).argmax(-1) == answers
    return 100 * float(right.float().mean())


def _behind(runs: Runs, worse: str, better: str, width: int) -> list[float]:
    """By how many points one score is behind another, one number per seed."""
    pairs = zip(
        runs.values("right", score=better, width=width), runs.values("right", score=worse, width=width), strict=True
    )
    return [high - low for high, low in pairs]


class Scale(Study):
    name = "scale"
    paper = (
        "Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin (2017), Attention Is All You Need, "
        "section 3.2.1; Britz, Goldie, Luong, Le (2017), Massive Exploration of Neural Machine Translation "
        "Architectures"
    )
    title = Bilingual(en="What the scale 1/√d is for", zh="1/√d 的缩放有什么用")
    claim = Bilingual(
        en="The dot product of two vectors of d independent components with mean 0 and variance 1 has variance d. As "
        "d grows, the softmax saturates: nearly all weight is on one key, and hardly any gradient passes. Britz and "
        "others found additive attention and dot products alike up to a width of 512, but the dot product much worse "
        "at 1024 (18.22 BLEU against 22.10). Vaswani and others suspected saturation, and divided by √d.",
        zh="两个向量各有 d 个相互独立、均值为 0、方差为 1 的分量，它们的点积方差就是 d。d 越大，softmax 越容易饱和："
        "几乎全部权重都落在一个键上，梯度也就几乎传不过去。Britz 等人发现，宽度在 512 以内时，"
        "加性注意力与点积不相上下；到了 1024，点积就差得多（BLEU 18.22，加性为 22.10）。Vaswani 等人推测原因是饱和，"
        "于是把点积除以 √d。",
    )
    method = Bilingual(
        en=f"At the start: {_QUERIES} random queries read {_KEYS} random keys, whose components are independent, with "
        "mean 0 and variance 1. We measure the variance of the scores, the entropy of the weights (4 bits if all are "
        "equal) and the size of the softmax's derivative, the norm of diag(α) − α αᵀ. After a short training: a "
        f"query symbol must find its equal among {_KEYS} keys and answer with the value beside it, out of {_SYMBOLS}. "
        "Queries and keys are projected to the width, and start with components of variance 1. Nothing but the score "
        "and the width differs.",
        zh=f"训练之前：{_QUERIES} 个随机查询读取 {_KEYS} 个随机的键，各分量相互独立，均值为 0，方差为 1。"
        "测量打分的方差、权重的熵（各权重全相等时为 4 比特）以及 softmax 导数的大小，即 diag(α) − α αᵀ 的范数。"
        f"短时间训练之后：给出一个查询符号，要在 {_KEYS} 个键中找到相同的符号，并答出它旁边的值（共 {_SYMBOLS} 种）。"
        "查询和键先投影到给定的宽度，训练开始时各分量的方差为 1。各次训练只有打分函数和宽度不同。",
    )
    limits = Bilingual(
        en="Britz and others trained translators of English to German for days; this is a lookup of symbols, trained "
        "for seconds with one learning rate. Trained queries and keys need not have variance 1, and a smaller "
        "initialisation would also prevent saturation. The additive score does not grow with the width because its "
        "vector v starts with components of at most 1/√d.",
        zh="Britz 等人用数天时间训练英译德的翻译模型；这里只是查找符号，用同一个学习率训练几秒钟。训练之后，"
        "查询和键的方差不一定还是 1；把初始权重取小一些，同样可以避免饱和。加性打分不随宽度增大，"
        "是因为向量 v 的初始分量不超过 1/√d。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en="the variance of q·k, divided by d, is from 0.8 to 1.2 at a width of 1024",
                zh="宽度为 1024 时，q·k 的方差除以 d 在 0.8 到 1.2 之间",
            ),
            value=lambda runs: [value / 1024 for value in runs.values("variance", score="dot", width=1024)],
            least=0.8,
            most=1.2,
        ),
        Threshold(
            text=Bilingual(
                en="at 1024, the softmax of q·k has at most a quarter of the derivative with the scale",
                zh="宽度为 1024 时，q·k 的 softmax 导数最多是带缩放时的四分之一",
            ),
            value=lambda runs: [
                without / scaled
                for without, scaled in zip(
                    runs.values("gradient", score="dot", width=1024),
                    runs.values("gradient", score="scaled", width=1024),
                    strict=True,
                )
            ],
            most=0.25,
        ),
        Threshold(
            text=Bilingual(
                en="at 16, the dot product is at most 5 points behind the additive score",
                zh="宽度为 16 时，点积最多比加性打分低 5 个百分点",
            ),
            value=lambda runs: _behind(runs, "dot", "additive", 16),
            most=5.0,
        ),
        Threshold(
            text=Bilingual(
                en="at 1024, the dot product without the scale is at least 5 points behind the additive score",
                zh="宽度为 1024 时，不带缩放的点积至少比加性打分低 5 个百分点",
            ),
            value=lambda runs: _behind(runs, "dot", "additive", 1024),
            least=5.0,
        ),
        Threshold(
            text=Bilingual(
                en="at 1024, the dot product with the scale is at most 5 points behind the additive score",
                zh="宽度为 1024 时，带缩放的点积最多比加性打分低 5 个百分点",
            ),
            value=lambda runs: _behind(runs, "scaled", "additive", 1024),
            most=5.0,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{"score": score, "width": width} for score in SCORES for width in (QUICK_WIDTHS if quick else WIDTHS)]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        score, width = settings["score"], settings["width"]
        torch.manual_seed(seed)
        right = measure_quality(score, width, updates=60 if quick else 500, seed=seed)
        return {**measure_start(score, width), "right": right}

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        widths, names = runs.settings("width"), {name: either(text.en, text.zh) for name, text in SCORES.items()}
        labels = [str(width) for width in widths]

        def chart(measured: str, y: str) -> Chart:
            lines = {
                names[name]: [runs.interval(measured, score=name, width=width) for width in widths] for name in SCORES
            }
            return line_chart(labels, lines, x=either("width d", "宽度 d"), y=y, either=either)

        rows: list[list[Cell]] = [
            [
                names[name],
                width,
                *(runs.mean(key, score=name, width=width) for key in ("variance", "entropy", "gradient", "right")),
            ]
            for name in SCORES
            for width in widths
        ]
        return (
            StudyTable(
                title=either("Before and after training", "训练前后"),
                columns=[
                    either("score", "打分函数"),
                    either("width", "宽度"),
                    either("variance of scores", "打分的方差"),
                    either("entropy (bits)", "熵（比特）"),
                    either("derivative of softmax", "softmax 的导数"),
                    either("right after training (%)", "训练后答对（%）"),
                ],
                rows=rows,
                note=either("The first three are measured before training.", "前三项在训练之前测量。"),
            ),
            StudyFigure(
                title=either("The softmax saturates", "softmax 会饱和"),
                chart=chart("entropy", either("entropy of the weights (bits)", "权重的熵（比特）")),
            ),
            StudyFigure(
                title=either("Right answers after a short training", "短时间训练后的正确率"),
                chart=chart("right", either("right (%)", "正确率（%）")),
            ),
        )
