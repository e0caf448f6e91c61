"""The same Transformer with every named attention that fits."""

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from saccade.attention import ATTENTIONS
from saccade.attention.table import AttentionError, build, describe
from saccade.inspect.chart import interval_chart
from saccade.language import Bilingual
from saccade.models.vaswani2017 import Config, Vaswani2017
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.study.token_pairs import TokenPairs, loss_of_examples, number_examples, share_correct, train_on_examples

_WIDTH, _HEADS = 32, 4
_DIGITS = (2, 5)
_DOT = "vaswani2017"
SITES: Mapping[str, Bilingual] = {
    "encoder": Bilingual(en="encoder", zh="编码器"),
    "decoder": Bilingual(en="decoder", zh="解码器"),
    "cross": Bilingual(en="cross", zh="交叉"),
}
# At a site of a Transformer with sequences as short as here, the first computes what the second does: windows of 10
# positions or more contain everything, and Luong's query, the current state, is the only one that there is.
SAME: Mapping[str, str] = {
    "luong2015-global-concat": "bahdanau2014",
    "luong2015-local-m-dot": "luong2015-global-dot",
    "luong2015-local-m-general": "luong2015-global-general",
    "luong2015-local-m-concat": "bahdanau2014",
    "luong2015-local-m-location": "luong2015-global-location",
    "vaswani2017-causal": "vaswani2017",
}
LEFT_OUT = ("xu2015",)  # learned by REINFORCE, which is another loss
_QUICK = (_DOT, "bahdanau2014", "luong2015-local-p-general", "shazeer2019", "shaw2018", "tu2016", "press2022")


def sites_of(name: str) -> list[str]:
    """Where an attention can stand: one that is causal by itself would hide half of the source."""
    causal = ATTENTIONS[name](query_dim=_WIDTH, memory_dim=_WIDTH, width=_WIDTH).window.causal
    try:
        build(name, causal=True, heads=_HEADS, query_dim=_WIDTH, memory_dim=_WIDTH, width=_WIDTH)
    except AttentionError:
        return ["encoder", "cross"]
    return ["decoder"] if causal else list(SITES)


def _config(name: str) -> Config:
    sites = sites_of(name)
    chosen: dict[str, Any] = {f"{site}_attention": name if site in sites else _DOT for site in SITES}
    return Config(width=_WIDTH, inner=64, heads=_HEADS, encoder_layers=2, decoder_layers=2, dropout=0.0, **chosen)


def _behind(name: str, other: str) -> Any:
    """How many points less, per seed"""

    def points(runs: Runs) -> list[float]:
        ahead, behind = runs.values("correct", attention=other), runs.values("correct", attention=name)
        return [before - after for before, after in zip(ahead, behind, strict=True)]

    return points


def _share_near(runs: Runs) -> list[float]:
    """Per seed, the share of the other attentions that are at most 10 points behind scaled dot-product"""
    others = [name for name in runs.settings("attention") if name != _DOT]
    by_seed = zip(*(_behind(name, _DOT)(runs) for name in others), strict=True)
    return [100 * sum(points <= 10 for points in each) / len(others) for each in by_seed]


class ChangeTheAttention(Study):
    name = "change-the-attention"
    paper = (
        "Vaswani and others (2017), Attention Is All You Need, section 3.2; Shaw and others (2018), Self-Attention "
        "with Relative Position Representations; Shazeer (2019), Fast Transformer Decoding"
    )
    title = Bilingual(en="Change the attention, get a new Transformer", zh="换一种注意力，就是一个新的 Transformer")
    claim = Bilingual(
        en="A Transformer has three sites for attention: the encoder's self-attention, the decoder's causal "
        "self-attention, and the cross-attention between them. Any attention can stand there. For small widths, "
        "additive and dot-product attention perform similarly (Vaswani 2017, section 3.2.1); relative positions help "
        "(Shaw 2018); a single head of keys and values for all heads of queries loses little (Shazeer 2019).",
        zh="Transformer 有三处用到注意力：编码器的自注意力、解码器的因果自注意力，以及两者之间的交叉注意力。"
        "任何一种注意力都可以放在那里。维数较小时，加性注意力与点积注意力效果相近（Vaswani 2017，第 3.2.1 节）；"
        "相对位置有帮助（Shaw 2018）；所有查询头共用一组键和值，损失很小（Shazeer 2019）。",
    )
    method = Bilingual(
        en=f"Small Transformers (2 + 2 layers, width {_WIDTH}) learn to write numbers of {_DIGITS[0]} to {_DIGITS[1]} "
        "digits in Chinese: 1005 → 一千零五. Each named attention of the package stands at all sites where it fits, "
        f"`{_DOT}` at the others; everything else is the same, also the number of updates. All models add sinusoidal "
        f"positions to their input. Attentions with several heads have {_HEADS}. Measured: the share of 500 unseen "
        "numbers that greedy search writes without an error; the number of parameters; and the time of an update "
        "relative to dot-product, both measured in turn in one process.",
        zh=f"小型 Transformer（编码器和解码器各 2 层，宽 {_WIDTH}）学习用汉字写 {_DIGITS[0]} 到 {_DIGITS[1]} 位的数："
        f"1005 → 一千零五。每种注意力都放在所有能放的地方，其余地方用 `{_DOT}`；其他一切相同，更新次数也相同。"
        f"所有模型的输入都加正弦位置编码。多头注意力用 {_HEADS} 个头。测量三项：500 个没见过的数中，"
        "贪心搜索写得完全正确的百分比；参数量；每次更新的时间与点积注意力之比，两者在同一个进程里交替测量。",
    )
    limits = Bilingual(
        en="One learning rate for all, a rule instead of a language, and a few hundred updates: an attention low in "
        "this table learns this task more slowly in this place, which need not make it bad. Attentions that were made "
        "for one query after another in an RNN (coverage, monotonic) are slow here because they must be read in that "
        f"way. `{LEFT_OUT[0]}` (hard attention) is left out: it learns by REINFORCE. The times are of a CPU, with "
        "short sequences. The task was shortened to 2 to 5 digits and 250 updates, to save time, after a run with more "
        "of both.",
        zh="所有注意力都用同一个学习率，任务是一条规则而不是语言，更新只有几百次：在表中靠后，"
        "只说明它在这个位置上学这个任务较慢，不等于它不好。为 RNN 逐步查询而设计的注意力（覆盖、单调）只能逐步读取，"
        f"所以在这里很慢。`{LEFT_OUT[0]}`（硬注意力）要用 REINFORCE 学习，没有列入。时间是在 CPU 上用短序列测得的。"
        "做过一次更长的运行之后，为了省时间，任务改成了 2 到 5 位数、250 次更新。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en="at least half of the other attentions are at most 10 points behind scaled dot-product",
                zh="其他注意力中，至少有一半比缩放点积最多低 10 个百分点",
            ),
            value=_share_near,
            least=50,
        ),
        Threshold(
            text=Bilingual(
                en="additive attention is at most 10 points behind dot-product, both with one head",
                zh="同为单头时，加性注意力比点积注意力最多低 10 个百分点",
            ),
            value=_behind("bahdanau2014", "luong2015-global-dot"),
            most=10,
        ),
        Threshold(
            text=Bilingual(
                en="with relative positions (Shaw), no worse than without",
                zh="加上相对位置（Shaw），不比不加差",
            ),
            value=_behind("shaw2018", _DOT),
            most=0,
        ),
        Threshold(
            text=Bilingual(
                en="with one head of keys and values for all (Shazeer), at most 5 points behind",
                zh="所有头共用一组键和值（Shazeer），最多低 5 个百分点",
            ),
            value=_behind("shazeer2019", _DOT),
            most=5,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        names = [name for name in ATTENTIONS if name not in SAME and name not in LEFT_OUT]
        return [{"attention": name} for name in names if not quick or name in (*_QUICK, "luong2015-global-dot")]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        encoder, train, test = number_examples(digits=_DIGITS, count=500 if quick else 6000)
        sizes = len(encoder.source), len(encoder.target)
        torch.manual_seed(seed)
        model = Vaswani2017(_config(settings["attention"]), *sizes)
        ratio = _time_ratio(model, Vaswani2017(_config(_DOT), *sizes), train, repetitions=2 if quick else 7)
        train_on_examples(model, train, updates=40 if quick else 250, seed=seed)
        return {
            "correct": share_correct(model, test),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "time": ratio,
        }

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        names = runs.settings("attention")
        ranked = sorted(names, key=lambda name: -runs.mean("correct", attention=name))
        rows: list[list[Cell]] = []
        for name in ranked:
            sites = either(", ", "、").join(either(SITES[site].en, SITES[site].zh) for site in sites_of(name))
            correct, time_ratio = runs.interval("correct", attention=name), runs.mean("time", attention=name)
            parameters = int(runs.mean("parameters", attention=name))
            rows.append([name, describe(name)["formula"], sites, correct.mean, parameters, round(time_ratio, 2)])
        same: list[list[Cell]] = [[name, other] for name, other in SAME.items()]
        return (
            StudyFigure(
                title=either("Each attention at every site where it fits", "每种注意力，放在所有能放的地方"),
                chart=interval_chart(
                    {name: runs.interval("correct", attention=name) for name in ranked},
                    x=either("numbers without an error (%)", "完全正确的数（%）"),
                    either=either,
                ),
            ),
            StudyTable(
                title=either("The Transformer with each attention", "用各种注意力的 Transformer"),
                columns=[
                    either("attention", "注意力"),
                    either("score", "打分"),
                    either("sites", "位置"),
                    either("correct (%)", "正确（%）"),
                    either("parameters", "参数量"),
                    either("time of an update", "每次更新的时间"),
                ],
                rows=rows,
                note=either(
                    f"Means over the seeds. The time is relative to `{_DOT}`. The windows of `liu2018` and "
                    f"`beltagy2020` contain all of these short sequences; they differ from `{_DOT}` in having 8 heads.",
                    f"各随机种子的平均。时间是与 `{_DOT}` 之比。`liu2018` 和 `beltagy2020` "
                    f"的窗口在这里包含整个短序列，与 `{_DOT}` 的差别只在于有 8 个头。",
                ),
            ),
            StudyTable(
                title=either(
                    "Not listed, because they compute the same here", "未列出的注意力：在这里与另一种完全相同"
                ),
                columns=[either("attention", "注意力"), either("the same as", "等同于")],
                rows=same,
                note=either(
                    "Their windows contain all of these short sequences, or they differ from the other only in the "
                    "query that an RNN gives them.",
                    "序列很短，它们的窗口包含全部位置；或者区别只在 RNN 给出的查询，在这里并无不同。",
                ),
            ),
        )


def _time_ratio(model: Vaswani2017, other: Vaswani2017, examples: TokenPairs, *, repetitions: int) -> float:
    """The CPU time of loss and gradients relative to another model's: medians of measurements in turn"""
    batch = TokenPairs(*(tensor[:32] for tensor in examples))
    seconds: dict[Vaswani2017, list[float]] = {model: [], other: []}
    for repetition in range(repetitions + 1):
        for each, times in seconds.items():
            began = time.thread_time()
            loss_of_examples(each, batch).backward()  # type: ignore[no-untyped-call]
            each.zero_grad()
            if repetition:  # the first warms up
                times.append(time.thread_time() - began)
    return statistics.median(seconds[model]) / statistics.median(seconds[other])
