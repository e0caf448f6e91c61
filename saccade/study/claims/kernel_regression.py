"""Attention as kernel regression (Nadaraya 1964; Watson 1964)."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from saccade.attention import Attention, Dot
from saccade.inspect.chart import line_chart
from saccade.language import Bilingual
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.study.training import train_on_tensors

_KNOWN, _NEW = 60, 200  # points to read, and points to predict
_SPAN, _NOISE, _WIDTH = 6.0, 0.4, 1.0
_DRAWN = 25
SYSTEMS: Mapping[str, Bilingual] = {
    "mean": Bilingual(en="the mean of all values", zh="所有值的平均"),
    "fixed": Bilingual(en="attention with a width of 1", zh="宽度为 1 的注意力"),
    "learned": Bilingual(en="attention with a learned width", zh="宽度可学习的注意力"),
}


class KernelAttention(nn.Module):
    """softmax(−(q − k)² / 2σ²): (2qk − k²) / 2σ² is the inner product of [q; 1] / σ² and [k; −k²/2]; −q² cancels."""

    def __init__(self, width: float) -> None:
        super().__init__()
        self.log_width = nn.Parameter(torch.tensor(width).log())
        self.attention = Attention(query_dim=2, memory_dim=2, value_dim=1, score=Dot(), project="")

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, readable: Tensor | None = None) -> Tensor:
        """Queries (B, Q), and one set of keys (B, K) with their values (B, K) per row; predictions (B, Q)."""
        query = torch.stack([queries, torch.ones_like(queries)], -1) / self.log_width.mul(2).exp()
        memory = self.attention.remember(
            torch.stack([keys, -keys.square() / 2], -1), readable, values=values[..., None]
        )
        context: Tensor = self.attention(query, memory).context  # (B, Q, 1)
        return context.squeeze(-1)


class KernelRegression(Study):
    name = "kernel-regression"
    paper = "Nadaraya (1964), On Estimating Regression; Watson (1964), Smooth Regression Analysis"
    title = Bilingual(en="Attention is a kernel regression", zh="注意力就是核回归")
    claim = Bilingual(
        en="To predict a value at a new place, average the known values, and let near ones count more: "
        "ŷ(q) = Σⱼ K(q − kⱼ) vⱼ / Σⱼ K(q − kⱼ). With a Gaussian K, this is softmax attention with the score "
        "−(q − k)² / 2σ². It predicts better than the mean, and better still when σ is learned.",
        zh="要预测新位置上的值，就对已知的值求加权平均，离得越近，权重越大：ŷ(q) = Σⱼ K(q − kⱼ) vⱼ / Σⱼ K(q − kⱼ)。"
        "K 取高斯函数时，它就是打分为 −(q − k)² / 2σ² 的 softmax 注意力。它比直接取平均准确；σ 由数据学出时更准确。",
    )
    method = Bilingual(
        en=f"{_KNOWN} noisy points of sin(2x) + x/2 between 0 and {_SPAN:g} are known. Predictions at {_NEW} "
        "new places are compared with the curve without noise. The width is learned on the known points alone: each is "
        "predicted from the others, by gradient descent. The formula of 1964 is also computed directly, without "
        "attention.",
        zh=f"已知的是曲线 sin(2x) + x/2 在 0 到 {_SPAN:g} 之间的 {_KNOWN} 个带噪声的点。在 {_NEW} 个新位置上做预测，"
        "与没有噪声的曲线比较。宽度只用已知的点来学：用其余的点预测每一个点，做梯度下降。"
        "此外不用注意力，直接按 1964 年的公式再算一遍。",
    )
    limits = Bilingual(
        en="The keys are the places themselves, and nothing but one width is learned. In a translator, queries and "
        "keys are learned as well, so that near means alike in meaning.",
        zh="这里的键就是位置本身，学习的只有一个宽度。在翻译模型里，查询和键也是学出来的，所以“近”就是含义相近。",
    )
    seeds = 5
    thresholds = (
        Threshold(
            text=Bilingual(
                en="attention and the formula differ by at most 0.0001", zh="注意力与公式的结果最多相差 0.0001"
            ),
            value=lambda runs: runs.values("difference"),
            most=1e-4,
        ),
        Threshold(
            text=Bilingual(
                en="attention with a width of 1 has at most half of the mean's squared error",
                zh="宽度为 1 的注意力，均方误差最多是直接取平均的一半",
            ),
            value=lambda runs: [
                fixed / mean for fixed, mean in zip(runs.values("fixed"), runs.values("mean"), strict=True)
            ],
            most=0.5,
        ),
        Threshold(
            text=Bilingual(en="learning the width makes the error smaller still", zh="学出宽度之后，误差更小"),
            value=lambda runs: runs.ratios("learned", "fixed"),
            most=1.0,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{}]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        torch.manual_seed(seed)
        keys = torch.rand(_KNOWN).mul(_SPAN).sort().values
        values = _curve(keys) + _NOISE * torch.randn(_KNOWN)
        new = torch.linspace(0, _SPAN, _NEW)
        fixed, learned = KernelAttention(_WIDTH), KernelAttention(_WIDTH)
        _learn_width(learned, keys, values, updates=200 if quick else 1000, seed=seed)
        with torch.no_grad():
            predictions = {
                "mean": values.mean().expand(_NEW),
                "fixed": fixed(new[None], keys[None], values[None])[0],
                "learned": learned(new[None], keys[None], values[None])[0],
            }
            width = float(learned.log_width.exp())
            kernel = torch.exp(-(new[:, None] - keys).square() / 2 / width**2)
            formula = (kernel * values).sum(-1) / kernel.sum(-1)
        drawn = torch.linspace(0, _NEW - 1, _DRAWN).long()
        return {
            "width": width,
            "difference": float((formula - predictions["learned"]).abs().max()),
            **{name: float((made - _curve(new)).square().mean()) for name, made in predictions.items()},
            "x": [round(x, 2) for x in new[drawn].tolist()],
            "curve": _curve(new)[drawn].tolist(),
            "drawn": {name: made[drawn].tolist() for name, made in predictions.items()},
        }

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        first = runs[0].measured
        names = {name: either(system.en, system.zh) for name, system in SYSTEMS.items()}
        lines = {either("the curve", "曲线"): first["curve"]} | {names[name]: first["drawn"][name] for name in SYSTEMS}
        labels = [f"{x:g}" if place % 4 == 0 else "" for place, x in enumerate(first["x"])]
        errors: list[list[Cell]] = [[names[name], runs.mean(name)] for name in SYSTEMS]
        width = runs.mean("width")
        return (
            StudyFigure(
                title=either("Predictions at new places", "在新位置上的预测"),
                chart=line_chart(labels, lines, x="x", y="y", either=either),
                note=either(
                    f"Seed 1. The learned width is {width:.2f} on average.",
                    f"随机种子 1。学出的宽度平均为 {width:.2f}。",
                ),
            ),
            StudyTable(
                title=either("Mean squared error", "均方误差"),
                columns=[either("prediction", "预测方法"), either("error", "误差")],
                rows=errors,
            ),
        )


def _curve(x: Tensor) -> Tensor:
    return torch.sin(2 * x) + x / 2


def _learn_width(model: KernelAttention, keys: Tensor, values: Tensor, *, updates: int, seed: int) -> None:
    """Predict each known point from the others."""

    def loss(module: nn.Module, tensors: tuple[Tensor, ...]) -> Tensor:
        queries, wanted = tensors
        others = queries[:, None] != keys  # (B, K)
        rows = len(queries)
        made = module(queries[:, None], keys.expand(rows, -1), values.expand(rows, -1), others).squeeze(-1)
        error: Tensor = (made - wanted).square().sum()
        return error

    train_on_tensors(model, loss, (keys, values), rows=_KNOWN, updates=updates, seed=seed, lr=0.03)
