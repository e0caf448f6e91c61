"""Reading the source backwards (Sutskever, Vinyals and Le 2014)."""

from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

from saccade.decode.scoring import score_pairs
from saccade.decode.translator import Translator
from saccade.inspect.chart import line_chart
from saccade.language import Bilingual
from saccade.metrics import score
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.study.training import train_translator
from saccade.tasks import task

_TASK, _TRAINED = "copy", (3, 12)
_PLACES = 8  # the length of the sequences whose places are compared
_ENDS = 3  # places at the beginning and at the end
MODELS: Mapping[str, Mapping[str, Any]] = {
    "vector": {"name": "sutskever2014", "preset": "tiny", "layers": 1},
    "attention": {"name": "luong2015", "preset": "tiny", "layers": 1},
}
SYSTEMS: Mapping[tuple[str, bool], Bilingual] = {
    ("vector", False): Bilingual(en="fixed vector, forwards", zh="固定向量，正向读"),
    ("vector", True): Bilingual(en="fixed vector, backwards", zh="固定向量，反向读"),
    ("attention", False): Bilingual(en="attention, forwards", zh="注意力，正向读"),
    ("attention", True): Bilingual(en="attention, backwards", zh="注意力，反向读"),
}


class Reversal(Study):
    name = "reversal"
    paper = "Sutskever, Vinyals, Le (2014), Sequence to Sequence Learning with Neural Networks, section 3.3"
    title = Bilingual(en="Reading the source backwards", zh="把源句反过来读")
    claim = Bilingual(
        en="An LSTM that passes on its last state translates better if it reads the source from its last word to its "
        "first: perplexity fell from 5.8 to 4.7, and BLEU rose from 25.9 to 30.6. The first words of the source are "
        "then close to the first words of the target, which are easier to learn.",
        zh="只传递最后状态的 LSTM，如果从源句的最后一个词读到第一个词，翻译得更好：困惑度从 5.8 降到 4.7，"
        "BLEU 从 25.9 升到 30.6。这样，源句开头的词离译文开头的词很近，学起来更容易。",
    )
    method = Bilingual(
        en=f"`sutskever2014` with one layer and `luong2015`, which has attention over the same LSTM, write again "
        f"{_TRAINED[0]} to {_TRAINED[1]} random letters: a translation in which no word changes its place. Each is "
        f"trained twice, reading forwards and backwards. The loss at each place is measured on {_PLACES} letters, when "
        "the letters before are given.",
        zh="让单层的 `sutskever2014` 和在同样的 LSTM 上加了注意力的 `luong2015` "
        f"照原样写出 {_TRAINED[0]} 到 {_TRAINED[1]} 个随机字母，相当于语序完全不变的翻译。"
        "每个模型训练两次：正向读和反向读。"
        f"在 {_PLACES} 个字母的序列上，给定前面的字母，测量每个位置的损失。",
    )
    limits = Bilingual(
        en="The paper translated from English to French with four layers of 1000 units. Letters that keep their order "
        "are the best case for reversal: where the order of the target is the reverse of the source's, reading "
        "forwards would be the better way. Training is short; in a longer one, the difference may become smaller. The "
        "threshold for BLEU was first a ratio of 1.1, and became the paper's difference after a quick run with a BLEU "
        "of 0, before the full one.",
        zh="论文用四层、每层 1000 个单元的网络做英译法。顺序不变的字母是最适合反向读的情形："
        "如果译文的顺序与源句相反，正向读反而更好。这里训练时间短；训练得更久，差别可能变小。"
        "BLEU 的标准起初是 1.1 倍；一次快速运行的 BLEU 为 0，于是在完整运行之前改成论文里的差值。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en="fixed vector: read backwards, perplexity is at most 0.9 of that forwards",
                zh="固定向量：反向读的困惑度最多是正向读的 0.9 倍",
            ),
            value=lambda runs: _change(runs, "vector"),
            most=0.9,
        ),
        Threshold(
            text=Bilingual(
                en="fixed vector: read backwards, BLEU is at least 4.7 points higher, as in the paper",
                zh="固定向量：反向读的 BLEU 至少高 4.7，与论文相当",
            ),
            value=lambda runs: [
                backwards - forwards
                for backwards, forwards in zip(
                    runs.values("bleu", model="vector", backwards=True),
                    runs.values("bleu", model="vector", backwards=False),
                    strict=True,
                )
            ],
            least=4.7,
        ),
        Threshold(
            text=Bilingual(
                en=f"fixed vector: the loss falls more at the first {_ENDS} places than at the last {_ENDS}",
                zh=f"固定向量：前 {_ENDS} 个位置的损失比最后 {_ENDS} 个位置降得更多",
            ),
            value=lambda runs: _gain_at_beginning(runs),
            least=0.0,
        ),
        Threshold(
            text=Bilingual(
                en="attention: reading backwards changes perplexity by at most 10 %",
                zh="注意力：反向读使困惑度最多改变 10%",
            ),
            value=lambda runs: [100 * abs(ratio - 1) for ratio in _change(runs, "attention")],
            most=10.0,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{"model": model, "backwards": backwards} for model, backwards in SYSTEMS]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        translator = train_translator(
            {**MODELS[settings["model"]], "reverse": settings["backwards"]},
            {"pairs": f"task:{_TASK}", "words": list(_TRAINED), "count": 5000 if quick else 50_000},
            updates=250 if quick else 1500,
            seed=seed,
        )
        count = 50 if quick else 300
        pairs = list(task(_TASK).pairs(count, seed=1, split="test", words=_TRAINED))
        written = [translation.text for translation in translator.translate([pair.source for pair in pairs])]
        scores = score(written, [pair.target for pair in pairs], metrics=["bleu", "exact"])
        losses = _losses(translator, count, _TRAINED)
        by_place = _losses(translator, count, (_PLACES, _PLACES))
        return {
            "bleu": scores["bleu"],
            "exact": scores["exact"],
            "perplexity": exp(sum(map(sum, losses)) / sum(map(len, losses))),
            "by_place": [sum(column) / len(column) for column in zip(*by_place, strict=True)][:_PLACES],
        }

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        names = {system: either(text.en, text.zh) for system, text in SYSTEMS.items()}
        lines = {name: _mean_by_place(runs, *system) for system, name in names.items()}
        rows: list[list[Cell]] = [
            [name, *(runs.mean(value, model=model, backwards=backwards) for value in ("perplexity", "bleu", "exact"))]
            for (model, backwards), name in names.items()
        ]
        return (
            StudyFigure(
                title=either("Where reading backwards helps", "反向读在哪里有帮助"),
                chart=line_chart(
                    [str(place) for place in range(1, _PLACES + 1)],
                    lines,
                    x=either("place in the target", "在译文中的位置"),
                    y=either("loss (−ln p)", "损失（−ln p）"),
                    either=either,
                ),
                note=either(
                    f"Sequences of {_PLACES} letters; the letters before are given. Means over the seeds.",
                    f"{_PLACES} 个字母的序列，给定前面的字母；各随机种子的平均值。",
                ),
            ),
            StudyTable(
                title=either("Scores", "得分"),
                columns=[
                    either("system", "系统"),
                    either("perplexity", "困惑度"),
                    "BLEU",
                    either("exactly right, %", "完全正确（%）"),
                ],
                rows=rows,
            ),
        )


def _losses(translator: Translator, count: int, words: tuple[int, int]) -> list[list[float]]:
    """−ln p of each token of the targets and of the end symbol, one list per pair"""
    pairs = [(pair.source, pair.target) for pair in task(_TASK).pairs(count, seed=1, split="test", words=words)]
    return [[-value for value in scored.token_log_probs] for scored in score_pairs(translator, pairs)]


def _change(runs: Runs, model: str) -> list[float]:
    """The perplexity when the source is read backwards, divided by that forwards"""
    backwards, forwards = (runs.values("perplexity", model=model, backwards=choice) for choice in (True, False))
    return [after / before for after, before in zip(backwards, forwards, strict=True)]


def _gain_at_beginning(runs: Runs) -> list[float]:
    """How much more the loss falls at the first places than at the last ones"""
    rows = (runs.where(model="vector", backwards=choice) for choice in (False, True))
    differences = []
    for forwards, backwards in zip(*rows, strict=True):
        losses = zip(forwards.measured["by_place"], backwards.measured["by_place"], strict=True)
        falls = [before - after for before, after in losses]
        differences.append((sum(falls[:_ENDS]) - sum(falls[-_ENDS:])) / _ENDS)
    return differences


def _mean_by_place(runs: Runs, model: str, backwards: bool) -> list[float]:
    rows = [trial.measured["by_place"] for trial in runs.where(model=model, backwards=backwards)]
    return [sum(column) / len(column) for column in zip(*rows, strict=True)]
