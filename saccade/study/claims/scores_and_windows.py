"""Luong's scores and windows, and what local attention really costs (Luong 2015)."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from saccade.align import AlignmentHead, GoldLinks, score_alignments
from saccade.attention.papers import luong2015
from saccade.decode.translator import Translator
from saccade.inspect.chart import Spot, line_chart, scatter_chart
from saccade.language import Bilingual
from saccade.metrics import Counts
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.study.training import train_translator
from saccade.tasks import Pair, task

_TASK, _LENGTHS, _JUDGED, _UPDATES = "phrasebook-en-fr", (3, 8), 200, 550
_RADIUS = 2  # D of the trained models; their sources have at most 9 positions, with the end symbol

# The recipes of this study name these, since the named attentions have the paper's D = 10.
local_m_general = partial(luong2015, "local-m", "general", radius=_RADIUS)
local_p_general = partial(luong2015, "local-p", "general", radius=_RADIUS)
local_p_dot = partial(luong2015, "local-p", "dot", radius=_RADIUS)
GLOBAL = ("dot", "general", "concat", "location")
MECHANISMS: Mapping[str, str] = {
    **{f"global {score}": f"luong2015-global-{score}" for score in GLOBAL},
    "local-m general": f"{__name__}:local_m_general",
    "local-p general": f"{__name__}:local_p_general",
    "local-p dot": f"{__name__}:local_p_dot",
}

WINDOWS = ("global", "local-m", "local-p")
SOURCES, QUICK_SOURCES = (16, 64, 256, 1024, 4096), (16, 64, 4096)  # positions
_WIDTH, _MOST_QUERIES, _REPEATS = 64, 256, 5


def measure_quality(translator: Translator, pairs: Sequence[Pair]) -> dict[str, float]:
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    outputs = [translation.text for translation in translator.translate(sources)]
    links = [AlignmentHead(layer=0, shift=0).links(attention) for attention in translator.attend(sources, targets)]
    return {
        "bleu": Counts(outputs, targets, metrics=["bleu"]).scores()["bleu"],
        "aer": score_alignments(links, [GoldLinks.all_sure(pair.alignment or ()) for pair in pairs]).aer,
    }


def measure_cost(window: str, length: int) -> dict[str, float]:
    """Reading a source of `length` positions: arithmetic and CPU time per word written, when all words are known (as in
    training without input feeding) and word by word (as in translation). Keys are projected before."""
    attention = luong2015(window, "general", query_dim=_WIDTH, memory_dim=_WIDTH, width=_WIDTH).eval()
    queries, source = torch.randn(1, min(length, _MOST_QUERIES), _WIDTH), torch.randn(1, length, _WIDTH)
    with torch.no_grad():
        memory = attention.remember(source)
        ways: Mapping[str, tuple[int, Callable[[], object]]] = {
            "together": (queries.shape[1], lambda: attention(queries, memory)),
            "stepwise": (1, lambda: attention(queries[:, :1], memory, at=length // 2)),
        }
        costs: dict[str, float] = {}
        for way, (count, read) in ways.items():
            costs[f"{way}_flops"] = count_flops(read) / count
            costs[f"{way}_microseconds"] = 1e6 * _cpu_seconds(read) / count
    return costs


def count_flops(read: Callable[[], object]) -> int:
    """Multiplications and additions in matrix products. Fused kernels are replaced by the products they consist of."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        read()
    flops: int = counter.get_total_flops()
    return flops


def _cpu_seconds(read: Callable[[], object]) -> float:
    """The shortest of several: other programs only make it longer."""
    read()
    seconds = []
    for _ in range(_REPEATS):
        began = time.process_time()
        for _ in range(_REPEATS):
            read()
        seconds.append((time.process_time() - began) / _REPEATS)
    return min(seconds)


def _bleu(runs: Runs, mechanism: str) -> list[float]:
    return runs.values("bleu", mechanism=mechanism)


def _ahead(runs: Runs, mechanism: str, others: Sequence[str]) -> list[float]:
    """By how many BLEU a mechanism is ahead of the best of some others, one number per seed."""
    best = [max(values) for values in zip(*(_bleu(runs, other) for other in others), strict=True)]
    return [value - other for value, other in zip(_bleu(runs, mechanism), best, strict=True)]


def _flops_against_global(runs: Runs, length: int) -> list[float]:
    local, everywhere = (
        runs.values("together_flops", window=window, length=length) for window in ("local-p", "global")
    )
    return [a / b for a, b in zip(local, everywhere, strict=True)]


class ScoresAndWindows(Study):
    name = "scores-and-windows"
    paper = "Luong, Pham, Manning (2015), Effective Approaches to Attention-based Neural Machine Translation"
    title = Bilingual(
        en="Luong's scores and windows, and what local attention costs", zh="Luong 的打分函数与窗口，局部注意力的代价"
    )
    claim = Bilingual(
        en="Of the scores, dot works best with global attention and general with local attention; concat works "
        "badly, and location, which does not look at the source words, aligns badly. Local attention that predicts "
        "where to read (local-p) is best of all, and is cheaper than global attention, since it reads only 2D + 1 "
        "positions.",
        zh="几种打分函数中，dot 最适合全局注意力，general 最适合局部注意力；concat 效果不好；location 不看源词，"
        "对齐很差。先预测位置再读取的局部注意力（local-p）总体最好，而且只读 2D + 1 个位置，代价比全局注意力小。",
    )
    method = Bilingual(
        en=f"Quality: luong2015 learns to translate English into French from 12,000 sentences of {_LENGTHS[0]} to "
        f"{_LENGTHS[1]} words, with each attention and otherwise equal settings; the local ones have D = {_RADIUS}, "
        f"that is, a window of {2 * _RADIUS + 1} positions. BLEU and the alignment error rate (AER) are of {_JUDGED} "
        f"unseen sentences. Cost: with D = 10, as in the paper, and a width of {_WIDTH}, one sentence of 16 to 4,096 "
        "positions is read by the general score. We count multiplications and additions per word written, and "
        "measure the CPU time of one thread, the shortest of five: all words together, and word by word.",
        zh=f"质量：luong2015 用 12,000 个 {_LENGTHS[0]} 到 {_LENGTHS[1]} 个词的句子学习英译法，只换注意力，"
        f"其余设置相同；局部注意力取 D = {_RADIUS}，即窗口为 {2 * _RADIUS + 1} 个位置。BLEU 和对齐错误率（AER）"
        f"在 {_JUDGED} 个没有见过的句子上计算。代价：按论文取 D = 10，宽度为 {_WIDTH}，"
        "用 general 打分读取一个有 16 到 4,096 个位置的句子。统计每写一个词要做多少次乘法和加法，"
        "并测量单线程的 CPU 时间（取五次中最短的）：所有词一起读，以及逐词读。",
    )
    limits = Bilingual(
        en="The paper trained four layers of 1,000 LSTM units with input feeding on 4.5 million sentence pairs; here "
        "it is one layer of 128 GRU units, without input feeding, for seconds, so that a score that learns slowly is "
        "at a disadvantage. The sentences are short and French follows the order of English, which suits local-m. "
        "The implementation scores all positions and masks those outside the window, unless this is dearer: local-m "
        "reads in chunks if all words are known (word by word, it scores all positions), and local-p copies 2D + 3 "
        "slots per word if the source is more than 16 times as long. Global attention uses a fused kernel. Other "
        "implementations cost otherwise.",
        zh="论文用 450 万个句对训练四层、每层 1,000 个单元、带输入反馈的 LSTM；这里只有一层 128 个单元的 GRU，"
        "没有输入反馈，只训练几秒钟，学得慢的打分函数会吃亏。句子短，法语词序又与英语接近，对 local-m 有利。"
        "本实现通常先算出所有位置的分数，再遮住窗口之外的；只有这样做更费时的时候才换方法：目标词都已知时，"
        "local-m 分块读取（逐词读时则给所有位置打分）；源句长度超过窗口的 16 倍时，"
        "local-p 为每个词复制 2D + 3 个位置。全局注意力使用融合内核。换一种实现，代价就会不同。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en="dot is the best score with global attention (BLEU ahead of the next)",
                zh="在全局注意力中，dot 最好（比第二名高出的 BLEU）",
            ),
            value=lambda runs: _ahead(runs, "global dot", [f"global {score}" for score in GLOBAL if score != "dot"]),
            least=0.0,
        ),
        Threshold(
            text=Bilingual(
                en="location aligns worse than dot (difference of AER)", zh="location 的对齐比 dot 差（AER 之差）"
            ),
            value=lambda runs: [
                location - dot
                for location, dot in zip(
                    *(runs.values("aer", mechanism=f"global {score}") for score in ("location", "dot")), strict=True
                )
            ],
            least=0.0,
        ),
        Threshold(
            text=Bilingual(
                en="with local-p, general is better than dot (difference of BLEU)",
                zh="用 local-p 时，general 比 dot 好（BLEU 之差）",
            ),
            value=lambda runs: _ahead(runs, "local-p general", ["local-p dot"]),
            least=0.0,
        ),
        Threshold(
            text=Bilingual(
                en="local-p with general is best of all (BLEU ahead of the next)",
                zh="local-p 加 general 总体最好（比其余最好的高出的 BLEU）",
            ),
            value=lambda runs: _ahead(
                runs, "local-p general", [name for name in MECHANISMS if name != "local-p general"]
            ),
            least=0.0,
        ),
        Threshold(
            text=Bilingual(
                en="for a source of 64 positions, local-p needs at most the arithmetic of global attention",
                zh="源句有 64 个位置时，local-p 的运算量不超过全局注意力",
            ),
            value=lambda runs: _flops_against_global(runs, 64),
            most=1.0,
        ),
        Threshold(
            text=Bilingual(
                en="for 4,096 positions, it needs at most a tenth",
                zh="源句有 4,096 个位置时，最多是全局注意力的十分之一",
            ),
            value=lambda runs: _flops_against_global(runs, 4096),
            most=0.1,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        costs = [
            {"window": window, "length": length}
            for window in WINDOWS
            for length in (QUICK_SOURCES if quick else SOURCES)
        ]
        return [*({"mechanism": name} for name in MECHANISMS), *costs]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        if "window" in settings:
            torch.manual_seed(seed)
            return measure_cost(settings["window"], settings["length"])
        lengths = (3, 5) if quick else _LENGTHS
        translator = train_translator(
            {
                "name": "luong2015",
                "preset": "tiny",
                "hidden": 32 if quick else 128,
                "bidirectional": True,
                "feeding": False,
                "cell": "gru",
                "attention": MECHANISMS[settings["mechanism"]],
            },
            {"pairs": f"task:{_TASK}", "count": 1000 if quick else 12_000, "words": list(lengths)},
            updates=25 if quick else _UPDATES,
            seed=seed,
            train_settings={"lr": 8e-3},
        )
        return measure_quality(translator, list(task(_TASK).pairs(30 if quick else _JUDGED, 1, "test", lengths)))

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        quality: list[list[Cell]] = [
            [name, runs.mean("bleu", mechanism=name), runs.mean("aer", mechanism=name)] for name in MECHANISMS
        ]
        spots = {
            window: [
                Spot(runs.mean("aer", mechanism=name), runs.mean("bleu", mechanism=name), name.partition(" ")[2])
                for name in MECHANISMS
                if name.startswith(f"{window} ")
            ]
            for window in WINDOWS
        }
        lengths = runs.where(window="global").settings("length")
        ways = {
            "together": either("all words together", "所有词一起读"),
            "stepwise": either("word by word", "逐词读"),
        }

        def costs(way: str, unit: str, y: str) -> StudyFigure:
            lines = {
                window: [runs.interval(f"{way}_{unit}", window=window, length=length).mean for length in lengths]
                for window in WINDOWS
            }
            chart = line_chart(
                [f"{length:,}" for length in lengths],
                lines,
                x=either("source positions", "源句的位置数"),
                y=y,
                powers=True,
                either=either,
            )
            return StudyFigure(title=f"{y}{either(': ', '：')}{ways[way]}", chart=chart)

        return (
            StudyTable(
                title=either("Quality", "质量"),
                columns=[either("attention", "注意力"), "BLEU", "AER"],
                rows=quality,
            ),
            StudyFigure(
                title=either("BLEU and AER of each score", "各打分函数的 BLEU 与 AER"),
                chart=scatter_chart(spots, x="AER", y="BLEU", either=either),
            ),
            _cost_table(runs, ways, either),
            *(
                costs(way, "microseconds", either("CPU time per word (µs)", "每个词的 CPU 时间（微秒）"))
                for way in ways
            ),
        )


def _cost_table(runs: Runs, ways: Mapping[str, str], either: Either) -> StudyTable:
    rows: list[list[Cell]] = [
        [
            window,
            length,
            *(
                runs.mean(f"{way}_{unit}", window=window, length=length) / size
                for way in ways
                for unit, size in (("flops", 1000), ("microseconds", 1))
            ),
        ]
        for length in runs.where(window="global").settings("length")
        for window in WINDOWS
    ]
    units = (either("thousand operations", "千次运算"), either("µs", "微秒"))
    return StudyTable(
        title=either("Cost of reading, per word written (D = 10)", "读取的代价，按每写一个词计算（D = 10）"),
        columns=[
            either("window", "窗口"),
            either("source positions", "源句的位置数"),
            *(f"{way}{either(', ', '，')}{unit}" for way in ways.values() for unit in units),
        ],
        rows=rows,
        note=either(
            "Operations are multiplications and additions in matrix products, counted without fusing; local-p also "
            "computes its place. Word by word, most of the time is spent on starting operations.",
            "运算指矩阵乘法中的乘法和加法，按不融合的算法统计；local-p 还要计算位置。逐词读时，"
            "大部分时间花在启动各个算子上。",
        ),
    )
