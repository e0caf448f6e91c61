"""Koehn and Knowles (2017): neural translation needs more data than statistical translation, and makes more of it."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from saccade.data import TextPair
from saccade.inspect.chart import Value, line_chart
from saccade.language import Bilingual
from saccade.metrics.scores import score
from saccade.study.statistical_translation import LONGEST, StatisticalTranslator
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.study.training import train_translator
from saccade.tasks import task
from saccade.text import words

_TASK, _WORDS = "phrasebook-en-fr", (3, 8)
_TESTED, _VALIDATING = 200, 50
_NETWORKS: Mapping[str, Mapping[str, Any]] = {
    "bahdanau2014": {"preset": "tiny", "dropout": 0.1},
    "vaswani2017": {"preset": "tiny", "tie": "target"},
}
SYSTEMS: Mapping[str, Bilingual] = {
    "statistical": Bilingual(en="statistical (phrases, trigrams)", zh="统计（短语表加三元语法）"),
    "bahdanau2014": Bilingual(en="bahdanau2014", zh="bahdanau2014"),
    "vaswani2017": Bilingual(en="vaswani2017", zh="vaswani2017"),
}
_PAIRS, _QUICK_PAIRS = (100, 1_000, 10_000), (50, 200)
_RATES = {"bahdanau2014": 8e-3, "vaswani2017": 4e-3}  # of learning
_UPDATES, _QUICK_UPDATES = 500, 20


class DataGrowth(Study):
    name = "data-growth"
    paper = "Koehn & Knowles (2017), Six Challenges for Neural Machine Translation, section 3.2"
    title = Bilingual(en="Statistical and neural translation as data grow", zh="数据增多时的统计翻译与神经翻译")
    claim = Bilingual(
        en="Neural translation has a steeper learning curve: it is worse than statistical translation with little "
        "data, and better with much. The paper compares a neural and a phrase-based system, English to Spanish, with "
        "0.4 to 385.7 million words.",
        zh="神经翻译的学习曲线更陡：数据少时不如统计翻译，数据多时胜过它。论文用 40 万到 3.857 亿词，"
        "比较了英语译西班牙语的神经系统和基于短语的系统。",
    )
    method = Bilingual(
        en=f"From 100 to 10,000 English–French pairs of the phrasebook, of {_WORDS[0]} to {_WORDS[1]} words, three "
        f"systems learn with the same words. The statistical one counts phrases of at most {LONGEST} words in pairs "
        "that an HMM has aligned, and searches for the translation with the highest product of phrase probabilities "
        "and of a trigram model. The others are bahdanau2014 and vaswani2017 of the preset tiny, with the same "
        f"number of updates whatever the data. BLEU and chrF are of {_TESTED} pairs with combinations of words that "
        "are not in the training data. Every seed draws other pairs.",
        zh=f"取内置短语集里 {_WORDS[0]} 到 {_WORDS[1]} 个词的英法句对，从 100 对到 10000 对，三个系统用同样的数据、"
        f"同样的词来学习。统计系统先用 HMM 对齐句对，统计长度不超过 {LONGEST} 个词的短语，"
        "再搜索使短语概率与三元语法概率之积最大的译文。另外两个是 tiny 预设的 bahdanau2014 和 vaswani2017，"
        f"无论数据多少，更新次数都相同。在 {_TESTED} 个测试句对上计算 BLEU 和 chrF，"
        "其中的词语搭配在训练数据里没有出现过。每个随机种子都另取一批句对。",
    )
    limits = Bilingual(
        en="The statistical system is far smaller than that of the paper (Moses): it writes targets in the order of "
        "the source phrases, with no model of reordering, no tuned weights, no lexical smoothing and no larger text "
        f"for its language model. The networks are small and trained for {_UPDATES} updates, without subwords and "
        "without stopping early; their learning rates were chosen in trial runs with 10,000 pairs, scored on test "
        "sentences. All sentences come from a grammar of about 600 English words, so that a thousand pairs go a long "
        "way; where the curves cross here says nothing about real text.",
        zh="这里的统计系统远比论文用的 Moses 简单：译文按源短语的顺序写出，没有调序模型，权重没有调优，"
        f"没有词汇平滑，语言模型也没有用更多的文本。神经网络都很小，只更新 {_UPDATES} 次，不用子词，"
        "也没有提前停止；学习率是用 10000 个句对试跑、按测试句的得分选定的。句子由一部只有约 600 个英语词的语法生成，"
        "一千个句对就能覆盖很多现象；所以曲线在哪里相交，对真实文本没有参考意义。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en="with the fewest pairs, the statistical system has a higher BLEU than both networks (difference "
                "above 0)",
                zh="句对最少时，统计系统的 BLEU 高于两个神经网络（差大于 0）",
            ),
            value=lambda runs: [-lead for lead in _neural_lead(runs, min)],
            least=0.0,
        ),
        Threshold(
            text=Bilingual(
                en="with the most pairs, the better network has a higher BLEU than the statistical system",
                zh="句对最多时，较好的那个神经网络的 BLEU 高于统计系统",
            ),
            value=lambda runs: _neural_lead(runs, max),
            least=0.0,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        sizes = _QUICK_PAIRS if quick else _PAIRS
        return [{"system": system, "pairs": pairs} for pairs in sizes for system in SYSTEMS]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        count = settings["pairs"]
        known, test = _draw(count, seed, "train"), _draw(20 if quick else _TESTED, seed, "test")
        sources = [pair.source for pair in test]
        if settings["system"] == "statistical":
            translator = StatisticalTranslator.learn(known)
            written = [translator.translate(source) for source in sources]
        else:
            updates = _QUICK_UPDATES if quick else _UPDATES
            written = _translate_by_network(settings["system"], known, sources, updates, seed)
        references = [spaced(pair.target) for pair in test]
        scores = score(written, references, tokenise="none")
        return {
            **{metric: round(scores[metric], 2) for metric in ("bleu", "chrf", "exact")},
            "sample": {"source": sources[0], "written": written[0], "reference": references[0]},
        }

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        names = {key: either(system.en, system.zh) for key, system in SYSTEMS.items()}
        sizes = runs.settings("pairs")
        labels = [f"{size:,}" for size in sizes]
        lines: dict[str, dict[str, list[Value]]] = {
            metric: {names[key]: [runs.interval(metric, system=key, pairs=size) for size in sizes] for key in SYSTEMS}
            for metric in ("bleu", "chrf")
        }
        rows: list[list[Cell]] = [
            [
                names[key],
                label,
                *(round(runs.mean(metric, system=key, pairs=size), 1) for metric in ("bleu", "chrf", "exact")),
            ]
            for size, label in zip(sizes, labels, strict=True)
            for key in SYSTEMS
        ]
        first = {key: runs.where(system=key, pairs=sizes[0])[0].measured["sample"] for key in SYSTEMS}
        last = {key: runs.where(system=key, pairs=sizes[-1])[0].measured["sample"] for key in SYSTEMS}
        source, reference = (first["statistical"][side] for side in ("source", "reference"))
        x = either("pairs to learn from", "训练句对数")
        return (
            *(
                StudyFigure(
                    title=either(f"{title} by the number of pairs", f"{title} 与句对数"),
                    chart=line_chart(labels, lines[metric], x=x, y=title, either=either),
                    note=either("Bands are 95 % intervals over the seeds.", "色带是各随机种子的 95% 区间。"),
                )
                for metric, title in (("bleu", "BLEU"), ("chrf", "chrF"))
            ),
            StudyTable(
                title=either("Scores", "得分"),
                columns=[either("system", "系统"), x, "BLEU", "chrF", either("exact, in %", "完全匹配（%）")],
                rows=rows,
            ),
            StudyTable(
                title=either("A sentence of the test set", "测试集里的一句"),
                columns=[
                    either("system", "系统"),
                    *(either(f"with {n} pairs", f"{n} 个句对") for n in labels[:: len(labels) - 1]),
                ],
                rows=[[names[key], first[key]["written"], last[key]["written"]] for key in SYSTEMS],
                note=either(f"Source: {source} Reference: {reference}", f"源句：{source} 参考译文：{reference}"),
            ),
        )


def spaced(text: str) -> str:
    """The words and punctuation marks with spaces between them, as all systems are scored"""
    return " ".join(words(text))


def _neural_lead(runs: Runs, end: Callable[[Sequence[int]], int]) -> list[float]:
    """The BLEU of the better network minus that of the statistical system, with the fewest or the most pairs"""
    pairs = end(runs.settings("pairs"))
    networks = zip(*(runs.values("bleu", system=name, pairs=pairs) for name in _NETWORKS), strict=True)
    statistical = runs.values("bleu", system="statistical", pairs=pairs)
    return [max(both) - other for both, other in zip(networks, statistical, strict=True)]


def _draw(count: int, seed: int, split: str) -> list[TextPair]:
    return [TextPair(pair.source, pair.target) for pair in task(_TASK).pairs(count, seed, split, _WORDS)]


def _translate_by_network(
    name: str, known: Sequence[TextPair], sources: Sequence[str], updates: int, seed: int
) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        files = {"pairs": known, "valid": _draw(_VALIDATING, seed, "valid")}
        data = {part: str(_write(pairs, Path(folder) / f"{part}.tsv")) for part, pairs in files.items()}
        rates = {"lr": _RATES[name]}
        translator = train_translator(
            {"name": name, **_NETWORKS[name]}, data, updates=updates, seed=seed, train_settings=rates
        )
    return [spaced(translation.text) for translation in translator.translate(sources)]


def _write(pairs: Sequence[TextPair], path: Path) -> Path:
    path.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), encoding="utf-8")
    return path
