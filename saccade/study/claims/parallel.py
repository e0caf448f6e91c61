"""Vaswani and others (2017): a Transformer learns from all words of a sentence at once, a recurrence from one after the
other."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import methodcaller
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.inspect.chart import line_chart
from saccade.language import Bilingual
from saccade.models import bahdanau2014, gehring2017, vaswani2017
from saccade.models.contract import Seq2Seq
from saccade.models.table import build_model
from saccade.study.chains import longest_chain
from saccade.study.cost import fastest
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.text import EOS

_WORDS = 100  # in each vocabulary
_WIDTH = 32
CONFIGS: Mapping[str, Any] = {
    "bahdanau2014": bahdanau2014.Config(embedding=_WIDTH, hidden=_WIDTH, align=_WIDTH, maxout=_WIDTH),
    "gehring2017": gehring2017.Config(
        embedding=_WIDTH, hidden=_WIDTH, encoder_layers=2, decoder_layers=2, longest=256, dropout=0.0
    ),
    "vaswani2017": vaswani2017.Config(
        width=_WIDTH, inner=2 * _WIDTH, heads=4, encoder_layers=2, decoder_layers=2, dropout=0.0
    ),
}
KINDS: Mapping[str, Bilingual] = {
    "bahdanau2014": Bilingual(en="recurrent (bahdanau2014)", zh="循环（bahdanau2014）"),
    "gehring2017": Bilingual(en="convolutional (gehring2017)", zh="卷积（gehring2017）"),
    "vaswani2017": Bilingual(en="Transformer (vaswani2017)", zh="Transformer（vaswani2017）"),
}
_LENGTHS, _QUICK_LENGTHS = (8, 16, 32, 64, 128), (16, 32, 64)
_NEAR, _FAR = 16, 64  # between which growth is measured


class Parallel(Study):
    name = "parallel"
    paper = "Vaswani et al. (2017), Attention Is All You Need, section 4 and table 1 (sequential operations)"
    title = Bilingual(en="One word after the other, or all at once", zh="逐词计算，还是同时计算")
    claim = Bilingual(
        en="In a recurrent network, each state waits for the one before it, so that the operations that depend on one "
        "another grow with the length of the sentence. A self-attention or a convolution connects all positions with a "
        "constant number of sequential operations, so that training can use parallel hardware.",
        zh="循环网络的每个状态都要等前一个状态算完，所以必须依次进行的运算步数随句子长度增长。自注意力和卷积处理所有位置，"
        "依次进行的步数不变，因此训练时可以利用并行硬件。",
    )
    method = Bilingual(
        en="Three encoder-decoders with about as many parameters compute one update of a single sentence pair, with "
        "n source and n target words: the forward pass, the loss and the backward pass. Every operation of torch is "
        "recorded together with its inputs, which gives the longest chain in which each operation needs the result "
        "of the one before it. Time is that of the CPU, the least of several rounds, in which the models take turns. "
        f"The models are narrow ({_WIDTH}) and there is one sentence, so that the time of an update is mostly that "
        "of starting one operation after another, as on hardware that has arithmetic to spare.",
        zh="三个参数量相近的编码器-解码器各对一个句对（源句、目标句各 n 个词）做一次更新：前向计算、损失、反向传播。"
        "记录 torch 的每个运算及其输入，就能得出最长的依赖链，链上每个运算都要用到前一个的结果。时间是 CPU 时间，"
        f"取若干轮中最短的一次，各模型轮流测量。模型很窄（{_WIDTH}），又只有一个句子，"
        "所以一次更新的时间主要花在一个接一个地启动运算上，这与算力有富余的硬件相似。",
    )
    limits = Bilingual(
        en="One thread of a CPU has no parallel arithmetic to fill. With wide models, large batches or long sentences, "
        "the total work decides there, and the time of all models grows with it (see the study complexity). "
        "Batches of many sentences keep a GPU busy with a recurrent network, too. The comparison is about training: "
        "to translate, all three models write one word after the other. The paper reports training costs on eight "
        "GPUs, not this measurement.",
        zh="CPU 的一个线程谈不上并行计算。模型宽、批次大或句子长的时候，起决定作用的是总运算量，"
        "所有模型的时间都随之增长（见小实验 complexity）。批次里句子多，循环网络同样能让 GPU 忙起来。"
        "这里比较的是训练；翻译的时候，三个模型都是一个词接一个词地写。论文给出的是八块 GPU 上的训练代价，"
        "没有做这样的测量。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en=f"recurrent: from {_NEAR} to {_FAR} words, the longest chain grows at least threefold",
                zh=f"循环：从 {_NEAR} 个词到 {_FAR} 个词，最长的依赖链至少增长到 3 倍",
            ),
            value=lambda runs: runs.values("bahdanau2014 chain growth"),
            least=3.0,
        ),
        *(
            Threshold(
                text=Bilingual(
                    en=f"{KINDS[model].en}: the longest chain does not grow",
                    zh=f"{KINDS[model].zh}：最长的依赖链不变",
                ),
                value=methodcaller("values", f"{model} chain growth"),
                most=1.0,
            )
            for model in ("gehring2017", "vaswani2017")
        ),
        Threshold(
            text=Bilingual(
                en=f"from {_NEAR} to {_FAR} words, the time of the recurrent model grows at least twice as much as the "
                "Transformer's",
                zh=f"从 {_NEAR} 个词到 {_FAR} 个词，循环模型的时间增长倍数至少是 Transformer 的两倍",
            ),
            value=lambda runs: runs.ratios("bahdanau2014 time growth", "vaswani2017 time growth"),
            least=2.0,
        ),
    )
    times = True

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{"lengths": list(_QUICK_LENGTHS if quick else _LENGTHS)}]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        torch.manual_seed(seed)
        lengths = settings["lengths"]
        models = {name: build_model(name, config, _WORDS, _WORDS) for name, config in CONFIGS.items()}
        updates = {(name, n): _update(model, n) for name, model in models.items() for n in lengths}
        seconds = dict(
            zip(
                updates,
                fastest(list(updates.values()), torch.device("cpu"), rounds=2 if quick else 8),
                strict=True,
            )
        )
        chains = {key: longest_chain(update) for key, update in updates.items()}
        measured: dict[str, Any] = {}
        for name, model in models.items():
            measured |= {
                name: {
                    "parameters": sum(parameter.numel() for parameter in model.parameters()),
                    "milliseconds": [1000 * seconds[name, n] for n in lengths],
                    "chain": [chains[name, n] for n in lengths],
                },
                f"{name} time growth": seconds[name, _FAR] / seconds[name, _NEAR],
                f"{name} chain growth": chains[name, _FAR] / chains[name, _NEAR],
            }
        return measured

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        first = runs[0]
        labels = [str(n) for n in first.settings["lengths"]]
        names = {model: either(kind.en, kind.zh) for model, kind in KINDS.items()}
        times = {
            name: [
                sum(column) / len(column)
                for column in zip(*(trial.measured[model]["milliseconds"] for trial in runs), strict=True)
            ]
            for model, name in names.items()
        }
        chains = {name: first.measured[model]["chain"] for model, name in names.items()}
        rows: list[list[Cell]] = [
            [names[model], f"{first.measured[model]['parameters']:,}", *map(str, first.measured[model]["chain"])]
            for model in KINDS
        ]
        x = either("source words = target words", "源句词数 = 目标句词数")
        return (
            StudyTable(
                title=either(
                    "The longest chain of dependent operations in an update", "一次更新中最长的依赖链（运算数）"
                ),
                columns=[either("model", "模型"), either("parameters", "参数量"), *(f"n = {n}" for n in labels)],
                rows=rows,
            ),
            StudyFigure(
                title=either("Time of one update", "一次更新的时间"),
                chart=line_chart(labels, times, x=x, y=either("milliseconds", "毫秒"), powers=True, either=either),
                note=either(
                    "One sentence pair, one CPU thread; the lengths double from mark to mark, and time has powers of "
                    "ten.",
                    "一个句对，一个 CPU 线程；相邻刻度的长度相差一倍，时间轴按 10 的幂标刻度。",
                ),
            ),
            StudyFigure(
                title=either("Dependent operations", "必须依次进行的运算"),
                chart=line_chart(
                    labels, chains, x=x, y=either("operations in a row", "依次进行的运算数"), powers=True, either=either
                ),
            ),
        )


def _update(model: Seq2Seq[Any, Any], n: int) -> Callable[[], None]:
    """The gradients of one pair of n source and n target words"""
    source, read, wanted = (torch.randint(EOS + 1, _WORDS, (1, n)) for _ in range(3))
    return partial(_compute_gradients, model, source, read, wanted)


def _compute_gradients(model: Seq2Seq[Any, Any], source: Tensor, read: Tensor, wanted: Tensor) -> None:
    model.zero_grad(set_to_none=True)
    logits = model(source, torch.ones_like(source, dtype=torch.bool), read)
    torch.autograd.backward(F.cross_entropy(logits.flatten(0, 1), wanted.flatten()))
