"""BLEU falls with length for a fixed vector (Cho and others 2014)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from saccade.evaluation.breakdowns import by_length
from saccade.inspect.chart import Interval, line_chart
from saccade.language import Bilingual
from saccade.metrics import Counts
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.study.training import train_translator
from saccade.tasks import task

_TASK, _TRAINED = "phrasebook-en-fr", (3, 12)
_EDGES = (2, 5, 8, 12, 16, 20, 28)  # the last lengths of the ranges; 2 is before the first
_SHORTEST, _LONGEST = "3–5", "9–12"  # of the lengths in training
MODELS: Mapping[str, Mapping[str, Any]] = {
    "fixed": {"name": "cho2014", "preset": "tiny", "hidden": 128},
    "attention": {"name": "bahdanau2014", "preset": "tiny"},
}
UPDATES: Mapping[str, int] = {"fixed": 1500, "attention": 1000}
TOKENS: Mapping[str, int] = {"fixed": 1400, "attention": 900}  # of a batch
QUICK_UPDATES: Mapping[str, int] = {"fixed": 700, "attention": 500}
QUICK_TOKENS: Mapping[str, int] = {"fixed": 900, "attention": 600}
SYSTEMS: Mapping[str, Bilingual] = {
    "fixed": Bilingual(en="one fixed vector", zh="一个固定向量"),
    "attention": Bilingual(en="attention", zh="注意力"),
}


class LengthBottleneck(Study):
    name = "length"
    paper = (
        "Cho, van Merriënboer, Bahdanau, Bengio (2014), On the Properties of Neural Machine Translation: "
        "Encoder–Decoder Approaches, section 5; Bahdanau, Cho, Bengio (2014), figure 2"
    )
    title = Bilingual(en="Long sentences do not fit into a fixed vector", zh="长句装不进固定向量")
    claim = Bilingual(
        en="An encoder-decoder that passes on one vector translates short sentences well, and its BLEU falls quickly "
        "as sentences become longer. With attention, BLEU does not fall with length.",
        zh="只传一个向量的编码器-解码器，短句译得不错，但句子一变长，BLEU 就迅速下降。有了注意力，BLEU 不随长度下降。",
    )
    method = Bilingual(
        en=f"`cho2014` and `bahdanau2014` are trained on English–French sentences of {_TRAINED[0]} to {_TRAINED[1]} "
        "words of the built-in phrasebook, for about the same time: the fixed vector has states of twice the width, "
        "and reads more than twice as many sentences. BLEU is measured on sentences with unseen combinations of words, "
        f"for each range of lengths, up to {_EDGES[-1]} words: longer than any in training.",
        zh=f"用内置短语集中 {_TRAINED[0]} 到 {_TRAINED[1]} 个词的英法句对，训练 `cho2014` 和 `bahdanau2014`，"
        "时间大致相同：固定向量模型的隐藏状态宽一倍，读过的句子也多出一倍以上。"
        f"测试句的词语搭配没有在训练中出现过，按长度分段计算 BLEU，最长到 {_EDGES[-1]} 个词，超过训练中的任何句子。",
    )
    limits = Bilingual(
        en="The papers trained networks of 1000 units for days on sentences of up to 30 or 50 words of real text. Here "
        "the states are small, so that the vector is full at a dozen words; where the fall begins depends on its "
        "width, the training and the language. Beyond the lengths in training, the papers compare models; nothing "
        "says that attention stays right at any length, and here it does not.",
        zh="论文在真实文本上用 1000 维的网络训练了好几天，句长最多 30 或 50 个词。这里的状态很小，十来个词就装满了；"
        "从多长开始下降，取决于向量的宽度、训练和语言。对于超过训练长度的句子，论文只是比较模型，"
        "并没有说注意力在任何长度上都不出错；在这里它也会出错。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en=f"one fixed vector: BLEU at {_LONGEST} words is at most half of that at {_SHORTEST} words",
                zh=f"一个固定向量：{_LONGEST} 个词时的 BLEU 最多是 {_SHORTEST} 个词时的一半",
            ),
            value=lambda runs: _kept(runs, "fixed"),
            most=0.5,
        ),
        Threshold(
            text=Bilingual(
                en=f"attention: BLEU at {_LONGEST} words is at least 0.9 of that at {_SHORTEST} words",
                zh=f"注意力：{_LONGEST} 个词时的 BLEU 至少是 {_SHORTEST} 个词时的 0.9 倍",
            ),
            value=lambda runs: _kept(runs, "attention"),
            least=0.9,
        ),
        Threshold(
            text=Bilingual(
                en="longer than in training: attention has at least twice the BLEU of the fixed vector",
                zh="比训练中的句子更长时：注意力的 BLEU 至少是固定向量的两倍",
            ),
            value=lambda runs: _divide(
                runs.values("beyond", system="attention"), runs.values("beyond", system="fixed")
            ),
            least=2.0,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{"system": system} for system in MODELS]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        system = settings["system"]
        translator = train_translator(
            MODELS[system],
            {"pairs": f"task:{_TASK}", "words": list(_TRAINED), "count": 10_000 if quick else 30_000},
            updates=(QUICK_UPDATES if quick else UPDATES)[system],
            seed=seed,
            train_settings={"tokens": QUICK_TOKENS[system], "lr": 1e-2} if quick else {"tokens": TOKENS[system]},
        )
        ranges = [(last + 1, edge) for last, edge in pairwise(_EDGES)]
        count = 40 if quick else 80
        pairs = [pair for words in ranges for pair in task(_TASK).pairs(count, seed=1, split="test", words=words)]
        sources = [pair.source for pair in pairs]
        written = [translation.text for translation in translator.translate(sources)]
        counts = Counts(written, [pair.target for pair in pairs], metrics=["bleu"])
        rows = by_length(sources, counts, edges=_EDGES, longest_trained=_TRAINED[1])
        bleu = {row.bucket.label: row.scores["bleu"] for row in rows if row.scores is not None}
        beyond = range(len(pairs) - count * sum(first > _TRAINED[1] for first, _ in ranges), len(pairs))
        return {
            **bleu,
            "beyond": counts.scores(list(beyond))["bleu"],
            "lengths": list(bleu),
            "is_beyond": [row.beyond for row in rows if row.scores is not None],
            "sentences": count,
        }

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        first = runs[0].measured
        lengths, names = first["lengths"], {name: either(text.en, text.zh) for name, text in SYSTEMS.items()}
        lines: dict[str, list[Interval]] = {
            names[name]: [runs.interval(length, system=name) for length in lengths] for name in SYSTEMS
        }
        rows: list[list[Cell]] = [[length, *(runs.mean(length, system=name) for name in SYSTEMS)] for length in lengths]
        x = either("words of the source", "源句词数")
        return (
            StudyFigure(
                title=either("BLEU by length", "BLEU 与长度"),
                chart=line_chart(
                    lengths,
                    lines,
                    x=x,
                    y="BLEU",
                    beyond=first["is_beyond"],
                    either=either,
                ),
                note=either(f"{first['sentences']} sentences per length.", f"每个长度段 {first['sentences']} 句。"),
            ),
            StudyTable(title=either("The same as numbers", "对应的数值"), columns=[x, *names.values()], rows=rows),
        )


def _kept(runs: Runs, system: str) -> list[float]:
    """BLEU of the longest sentences within training, divided by that of the shortest"""
    return _divide(runs.values(_LONGEST, system=system), runs.values(_SHORTEST, system=system))


def _divide(values: Sequence[float], others: Sequence[float]) -> list[float]:
    """Value by value; a model that has hardly been trained may have a BLEU of 0."""
    return [value / max(other, 0.1) for value, other in zip(values, others, strict=True)]
