"""Table 1 of Vaswani and others (2017): what a layer costs as the sentence grows."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from saccade.attention import Attention
from saccade.attention.papers import vaswani2017
from saccade.attention.windows import Sliding, Window
from saccade.inspect.chart import line_chart
from saccade.language import Bilingual
from saccade.layers.convolution import Convolution
from saccade.layers.recurrent import RecurrentEncoder
from saccade.study.chains import longest_chain
from saccade.study.cost import fastest, growth, peak_bytes
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold

_WIDTH, _KERNEL, _SIDE = 32, 3, 32  # d and k; the local window reads so many words on each side
_HEADS = 2
_LENGTHS, _QUICK_LENGTHS = (256, 512, 1024, 2048, 4096), (256, 512, 1024)
_MEGABYTE = 1e6
_CPU = torch.device("cpu")


class Layer(NamedTuple):
    name: Bilingual
    formula: str  # of table 1; r is the number of words in the window
    multiplications: Callable[[int], int]  # that mix words, as in the formula
    build: Callable[[], Callable[[Tensor], Tensor]]


def _attend(attention: Attention, x: Tensor, *, weights: bool = False) -> Tensor:
    context: Tensor = attention(x, attention.remember(x), weights=weights).context
    return context


def _recur(encoder: nn.Module, x: Tensor) -> Tensor:
    states: Tensor = encoder(x, torch.ones(x.shape[:2], dtype=torch.bool))[0]
    return states


def _self_attention(*, window: Window | None = None, weights: bool = False) -> Callable[[Tensor], Tensor]:
    attention = vaswani2017(query_dim=_WIDTH, memory_dim=_WIDTH, width=_WIDTH, heads=_HEADS, window=window)
    return partial(_attend, attention, weights=weights)


def _extreme(pick: Callable[[tuple[float, ...]], float], layer: str) -> Callable[[Runs], list[float]]:
    """Of the exponents of time and of memory, the smaller or the larger one, one per seed"""

    def pick_for_each_seed(runs: Runs) -> list[float]:
        both = (runs.values(cost, layer=layer) for cost in ("time", "memory"))
        return [pick(exponents) for exponents in zip(*both, strict=True)]

    return pick_for_each_seed


LAYERS: Mapping[str, Layer] = {
    "stored": Layer(
        Bilingual(en="self-attention, weights stored", zh="自注意力，保存权重"),
        "n²·d",
        lambda n: n * n * _WIDTH,
        partial(_self_attention, weights=True),
    ),
    "fused": Layer(
        Bilingual(en="self-attention, fused", zh="自注意力，融合计算"),
        "n²·d",
        lambda n: n * n * _WIDTH,
        _self_attention,
    ),
    "local": Layer(
        Bilingual(en="self-attention in a window", zh="窗口内的自注意力"),
        "r·n·d",
        lambda n: (2 * _SIDE + 1) * n * _WIDTH,
        lambda: _self_attention(window=Sliding(_SIDE, _SIDE)),
    ),
    "recurrent": Layer(
        Bilingual(en="recurrence", zh="循环"),
        "n·d²",
        lambda n: n * _WIDTH**2,
        lambda: partial(_recur, RecurrentEncoder("tanh", _WIDTH, _WIDTH, bidirectional=False)),
    ),
    "convolution": Layer(
        Bilingual(en="convolution", zh="卷积"),
        "k·n·d²",
        lambda n: _KERNEL * n * _WIDTH**2,
        lambda: Convolution(_WIDTH, _WIDTH, _KERNEL),
    ),
}
_LINEAR = ("local", "recurrent", "convolution")


class Complexity(Study):
    name = "complexity"
    paper = "Vaswani et al. (2017), Attention Is All You Need, table 1"
    title = Bilingual(en="What a layer costs as the sentence grows", zh="句子变长时，一层的代价")
    claim = Bilingual(
        en="For n words and width d, a self-attention layer takes O(n²·d) operations, a recurrent one O(n·d²), a "
        "convolutional one with kernel k O(k·n·d²), and a self-attention restricted to r neighbouring words O(r·n·d). "
        "All but the recurrent layer take a constant number of sequential operations, the recurrent one O(n).",
        zh="设有 n 个词，宽度为 d：一层自注意力的运算量是 O(n²·d)，循环层是 O(n·d²)，核宽为 k 的卷积层是 O(k·n·d²)，"
        "只看邻近 r 个词的自注意力是 O(r·n·d)。必须依次进行的运算步数，循环层是 O(n)，其余各层都是常数。",
    )
    method = Bilingual(
        en=f"One layer of each kind (d = {_WIDTH}, k = {_KERNEL}, r = {2 * _SIDE + 1}, {_HEADS} heads) reads "
        f"{_LENGTHS[0]} to {_LENGTHS[-1]} random vectors, forward and backward, on one CPU thread. Time is that of "
        "the CPU, the least of several rounds; memory is the peak of torch's allocator. The exponent x of cost ≈ "
        "c·nˣ is fitted to the logarithms at the four longest lengths. The numbers that are kept for the backward "
        "pass and the longest chain of dependent operations are counted exactly. Self-attention is measured in two "
        "ways: with all n² weights stored, and fused, where a block of weights is forgotten as soon as it has been "
        "used and is computed again for the gradient (Dao 2022).",
        zh=f"每种各取一层（d = {_WIDTH}，k = {_KERNEL}，r = {2 * _SIDE + 1}，{_HEADS} 个头），读入 {_LENGTHS[0]} 到 "
        f"{_LENGTHS[-1]} 个随机向量，在一个 CPU 线程上做前向和反向计算。时间是 CPU 时间，取若干轮中最短的一次，"
        "内存取 torch 分配器的峰值。设代价 ≈ c·nˣ，对最长的四个长度取对数，拟合出指数 x。为反向传播保留的数值个数"
        "和最长依赖链的长度则是精确统计的。自注意力测两种算法：一种保存全部 n² 个权重；另一种是融合计算，"
        "一块权重用完就丢，求梯度时重新计算（Dao 2022）。",
    )
    limits = Bilingual(
        en="The table counts one layer and leaves out projections and feed-forward networks, which take O(n·d²): with "
        "sentences shorter than the width, as in translation, they cost more than the attention. So d is small "
        "here, or the square of n would not show. Exponents of time are measured and include what does not grow; "
        "on a GPU, short sentences cost nearly the same whatever their length. The maximum path length, the third "
        "column of the table, is not measured.",
        zh="表中只计一层，不含投影和前馈网络，这两项是 O(n·d²)：翻译中句长往往小于宽度，它们比注意力本身更费时。"
        "所以这里取很小的 d，否则看不出 n 的平方。时间的指数是实测值，其中也有不随长度增长的部分；"
        "在 GPU 上，短句无论长短，耗时几乎一样。表中第三列（最长路径长度）没有测量。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en="self-attention with stored weights: the exponents of time and of memory are at least 1.7",
                zh="保存权重的自注意力：时间和内存的指数都至少为 1.7",
            ),
            value=_extreme(min, "stored"),
            least=1.7,
        ),
        Threshold(
            text=Bilingual(
                en="fused self-attention: the exponent of time is at least 1.7",
                zh="融合计算的自注意力：时间的指数至少为 1.7",
            ),
            value=lambda runs: runs.values("time", layer="fused"),
            least=1.7,
        ),
        Threshold(
            text=Bilingual(
                en="fused self-attention: the exponent of memory is at most 1.2",
                zh="融合计算的自注意力：内存的指数最多为 1.2",
            ),
            value=lambda runs: runs.values("memory", layer="fused"),
            most=1.2,
        ),
        *(
            Threshold(
                text=Bilingual(
                    en=f"{LAYERS[layer].name.en}: the exponents of time and of memory are at most 1.2",
                    zh=f"{LAYERS[layer].name.zh}：时间和内存的指数都最多为 1.2",
                ),
                value=_extreme(max, layer),
                most=1.2,
            )
            for layer in _LINEAR
        ),
    )
    times = True

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{"layer": name, "lengths": list(_QUICK_LENGTHS if quick else _LENGTHS)} for name in LAYERS]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        torch.manual_seed(seed)
        layer, lengths = LAYERS[settings["layer"]].build(), settings["lengths"]
        calls = [partial(_learn, layer, torch.randn(1, n, _WIDTH, requires_grad=True)) for n in lengths]
        seconds = fastest(calls, _CPU, rounds=1 if quick else 5)
        peaks = [float(peak_bytes(call, _CPU)) for call in calls]
        return {
            "time": _exponent(lengths, seconds),
            "memory": _exponent(lengths, peaks),
            "milliseconds": [1000 * value for value in seconds],
            "megabytes": [peak / _MEGABYTE for peak in peaks],
            "kept": [count_kept(call) for call in calls],
            "chain": [longest_chain(call) for call in calls],
        }

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        names = {key: either(layer.name.en, layer.name.zh) for key, layer in LAYERS.items()}
        lengths = runs[0].settings["lengths"]
        labels, longest = [str(n) for n in lengths], lengths[-1]
        exponents: list[list[Cell]] = [
            [
                names[key],
                *(round(runs.mean(cost, layer=key), 2) for cost in ("time", "memory")),
                round(_mean(runs, key, "milliseconds")[-1], 1),
                round(_mean(runs, key, "megabytes")[-1], 2),
            ]
            for key in LAYERS
        ]
        counts: list[list[Cell]] = [
            [
                names[key],
                layer.formula,
                f"{layer.multiplications(longest):,}",
                f"{runs.where(layer=key)[0].measured['kept'][-1]:,}",
                *(str(runs.where(layer=key)[0].measured["chain"][place]) for place in (0, -1)),
            ]
            for key, layer in LAYERS.items()
        ]
        times, memory = (
            {names[key]: _mean(runs, key, cost) for key in LAYERS} for cost in ("milliseconds", "megabytes")
        )
        return (
            StudyTable(
                title=either(
                    "Measured: exponents of n, and costs at the longest n", "实测：n 的指数，以及 n 最大时的代价"
                ),
                columns=[
                    either("layer", "层"),
                    either("exponent of time", "时间的指数"),
                    either("exponent of memory", "内存的指数"),
                    either(f"ms at n = {longest}", f"n = {longest} 的毫秒数"),
                    either(f"MB at n = {longest}", f"n = {longest} 的 MB 数"),
                ],
                rows=exponents,
            ),
            StudyTable(
                title=either("Counted", "精确计数"),
                columns=[
                    either("layer", "层"),
                    either("table 1", "论文表 1"),
                    either(f"which is, at n = {longest}", f"n = {longest} 时等于"),
                    either("numbers kept for the backward pass", "为反向传播保留的数值个数"),
                    either(f"dependent operations, n = {lengths[0]}", f"依赖链长度，n = {lengths[0]}"),
                    either(f"n = {longest}", f"n = {longest}"),
                ],
                rows=counts,
                note=either(
                    f"n²·d is less than n·d² only where n is less than d: here, below {_WIDTH} words.",
                    f"只有 n 小于 d（这里即不到 {_WIDTH} 个词）时，n²·d 才小于 n·d²。",
                ),
            ),
            StudyFigure(
                title=either("Time, forward and backward", "前向加反向的时间"),
                chart=line_chart(labels, times, x="n", y=either("milliseconds", "毫秒"), powers=True, either=either),
            ),
            StudyFigure(
                title=either("Peak memory", "内存峰值"),
                chart=line_chart(labels, memory, x="n", y="MB", powers=True, either=either),
            ),
        )


def _learn(layer: Callable[[Tensor], Tensor], x: Tensor) -> None:
    """Forward and backward; the gradient of the input is forgotten afterwards"""
    torch.autograd.grad(layer(x).sum(), x)


def count_kept(call: Callable[[], object]) -> int:
    """The numbers that a call keeps in memory for its backward pass"""
    kept: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        call()
    return sum(kept.values())


def _exponent(lengths: Sequence[int], costs: Sequence[float]) -> float:
    fitted = growth(lengths, costs)
    assert fitted is not None
    return fitted["exponent"]


def _mean(runs: Runs, layer: str, cost: str) -> list[float]:
    """Over the seeds, for each length"""
    columns = zip(*(trial.measured[cost] for trial in runs.where(layer=layer)), strict=True)
    return [sum(column) / len(column) for column in columns]
