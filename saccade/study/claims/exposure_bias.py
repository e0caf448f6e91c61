"""Exposure bias: a model that was trained on true prefixes must continue its own (Bengio 2015; Ranzato 2016)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from saccade.data.batching import Batch
from saccade.decode.translator import Translator
from saccade.inspect.chart import Value, line_chart
from saccade.language import Bilingual
from saccade.metrics import Counts
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.study.training import train_translator
from saccade.tasks import Pair, task
from saccade.text import EOS, PAD

_TASK, _LENGTHS, _JUDGED = "phrasebook-en-fr", (6, 12), 200
_UPDATES = 400
_POSITIONS = 12  # of the target, with the end symbol
_EARLY = 2  # an error is planted at this position, from 0
_DISTANCES = 8
SYSTEMS: Mapping[str, Bilingual] = {
    "teacher-forcing": Bilingual(en="teacher forcing", zh="教师强制"),
    "scheduled-sampling": Bilingual(en="scheduled sampling", zh="计划采样"),
}


def continue_freely(model: torch.nn.Module, batch: Batch, *, true_words: int, planted: Tensor | None = None) -> Tensor:
    """The most probable tokens (B, T) when the first `true_words` inputs after the start are the reference's, the next
    is `planted` (B,) if given, and all others are the model's own. The output has the length of the references."""
    inputs, length = batch.target_in.clone(), batch.target_in.shape[1]
    if planted is not None:
        true_words += 1
        inputs[:, true_words] = planted
    written = _most_probable(model, batch, inputs)
    for place in range(true_words, length - 1):
        inputs[:, place + 1] = written[:, place]
        written = _most_probable(model, batch, inputs)
    return written


def likeliest_mistakes(model: torch.nn.Module, batch: Batch, place: int) -> Tensor:
    """(B,) the model's most probable word at a place other than the true one and the end."""
    logits: Tensor = model(batch.source, batch.source_readable, batch.target_in)[:, place].clone()
    logits[:, [PAD, EOS]] = float("-inf")
    logits.scatter_(1, batch.target_out[:, place, None], float("-inf"))
    return logits.argmax(-1)


def _most_probable(model: torch.nn.Module, batch: Batch, inputs: Tensor) -> Tensor:
    tokens: Tensor = model(batch.source, batch.source_readable, inputs).argmax(-1)
    return tokens


def shares(right: Tensor, counted: Tensor) -> list[float | None]:
    """The percentage of right tokens in each column that counts any."""
    hits, counts = (right & counted).sum(0).tolist(), counted.sum(0).tolist()
    return [100 * hit / count if count else None for hit, count in zip(hits, counts, strict=True)]


def measure_prefixes(translator: Translator, batch: Batch) -> dict[str, Any]:
    """How often the next token is right after true prefixes, after own ones, and after a planted mistake."""
    model, true, counted = translator.model, batch.target_out, batch.target_readable
    forced = continue_freely(model, batch, true_words=batch.target_in.shape[1]) == true
    free = continue_freely(model, batch, true_words=0) == true
    enough = counted & (counted.sum(1, keepdim=True) > _EARLY + 2)
    continued = continue_freely(model, batch, true_words=_EARLY + 1) == true
    mistakes = likeliest_mistakes(model, batch, _EARLY)
    disturbed = continue_freely(model, batch, true_words=_EARLY, planted=mistakes) == true
    after = slice(_EARLY + 1, _EARLY + 1 + _DISTANCES)
    return {
        "forced": _percent(forced, counted),
        "free": _percent(free, counted),
        "by_position": {
            "forced": shares(forced, counted)[:_POSITIONS],
            "free": shares(free, counted)[:_POSITIONS],
        },
        "after": {
            "true": shares(continued, enough)[after],
            "mistake": shares(disturbed, enough)[after],
        },
    }


def _percent(right: Tensor, counted: Tensor) -> float:
    return 100 * float(right[counted].float().mean())


def batch_of(translator: Translator, pairs: Sequence[Pair]) -> Batch:
    sources, targets = zip(*(translator.vocabularies.encode(pair) for pair in pairs), strict=True)
    return Batch.of(sources, targets, range(len(pairs)))


def _gap(runs: Runs, system: str) -> list[float]:
    return [
        forced - free for forced, free in zip(*(_values(runs, key, system) for key in ("forced", "free")), strict=True)
    ]


def _values(runs: Runs, key: str, system: str) -> list[float]:
    return runs.values(key, system=system)


def _gap_at(measured: Mapping[str, Any], places: slice) -> float:
    """The mean gap over some positions."""
    both = zip(*(measured["by_position"][key][places] for key in ("forced", "free")), strict=True)
    gaps: list[float] = [forced - free for forced, free in both if forced is not None and free is not None]
    return sum(gaps) / len(gaps)


def cost_of_mistake(measured: Mapping[str, Any]) -> list[float | None]:
    """By how many points a planted mistake lowers the accuracy, at each distance."""
    both = zip(measured["after"]["true"], measured["after"]["mistake"], strict=True)
    return [None if true is None or mistake is None else true - mistake for true, mistake in both]


def _growth_of_cost(measured: Mapping[str, Any]) -> float:
    """The cost 5 tokens after a mistake, minus that 1 token after it."""
    costs = cost_of_mistake(measured)
    first, later = costs[0], costs[4]
    assert first is not None and later is not None
    return later - first


class ExposureBias(Study):
    name = "exposure-bias"
    paper = (
        "Bengio, Vinyals, Jaitly, Shazeer (2015), Scheduled Sampling for Sequence Prediction with Recurrent Neural "
        "Networks; Ranzato, Chopra, Auli, Zaremba (2016), Sequence Level Training with Recurrent Neural Networks"
    )
    title = Bilingual(en="Teacher forcing and exposure bias", zh="教师强制与曝光偏差")
    claim = Bilingual(
        en="In training, a decoder reads the true previous words; in translation it reads its own, and meets "
        "prefixes that it has never seen (Ranzato and others: exposure bias). Mistakes made early are then "
        "amplified. Scheduled sampling, which replaces true words by the model's own more and more often during "
        "training, closes a part of the gap.",
        zh="训练时，解码器读到的是正确的前文；翻译时读到的是自己写的词，会遇到从未见过的前文（"
        "Ranzato 等人称之为曝光偏差）。于是，前面犯的错误会不断放大。"
        "计划采样在训练中越来越多地用模型自己的词代替正确的词，可以消除一部分差距。",
    )
    method = Bilingual(
        en=f"bahdanau2014 learns to translate English into French from 12,000 sentences of {_LENGTHS[0]} to "
        f"{_LENGTHS[1]} words, stopped early so that it makes mistakes. On {_JUDGED} unseen sentences we count how "
        "often the token at each position is that of the reference: after the true prefix, and after the prefix that "
        "the model wrote itself. Then a mistake is planted: the third word is replaced by the likeliest wrong one, "
        "and the model continues by itself; this is compared with continuing after the true third word. Scheduled "
        "sampling is `train.sampling`, an inverse sigmoid, with half of the words its own at half of the updates, "
        "for the same number of updates.",
        zh=f"bahdanau2014 用 12,000 个 {_LENGTHS[0]} 到 {_LENGTHS[1]} 个词的句子学习英译法，"
        f"训练提前停止，好让它还会犯错。在 {_JUDGED} 个没有见过的句子上，统计每个位置上的词与参考译文相同的比例："
        "一种情况下前文是正确的，另一种情况下前文是模型自己写的。然后人为放入一个错误："
        "把第三个词换成概率最高的错词，让模型自己写下去，与第三个词正确时接着写的结果比较。"
        "计划采样即 `train.sampling`，采用反 sigmoid 曲线，更新进行到一半时，有一半的词是模型自己写的；"
        "总的更新次数相同。",
    )
    limits = Bilingual(
        en="Tokens are compared by position: a translation that leaves out a word is wrong from there on, although "
        "its words may be right. The task has one right translation per source, and attention tells the decoder at "
        "each step what the source says; a model without a source depends more on its prefix. Scheduled sampling is "
        "done in two passes: the model's words follow the true prefix, while in the paper they follow the model's "
        "own. The papers measured captions, parsing, speech, summaries and translation of real texts. "
        "The threshold for a planted mistake was first a ratio; it became a difference after trial runs, in which "
        "neither form held.",
        zh="比较是按位置进行的：漏掉一个词，后面的词即使正确也都算错。每个源句只有一种正确译文，"
        "注意力又在每一步告诉解码器源句说了什么；没有源句的模型更依赖前文。这里的计划采样分两遍进行："
        "模型的词接在正确的前文之后，论文里则接在模型自己写的前文之后。两篇论文的实验是图像描述、句法分析、语音识别、"
        "摘要以及真实文本的翻译。关于故意写错的那条标准，起初用的是比值，试跑之后改成差值；两种写法都不成立。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en="with teacher forcing, accuracy is at least 2 points lower after the model's own prefix",
                zh="用教师强制训练时，接在模型自己的前文之后，正确率至少低 2 个百分点",
            ),
            value=lambda runs: _gap(runs, "teacher-forcing"),
            least=2.0,
        ),
        Threshold(
            text=Bilingual(
                en="the gap grows: it is larger at positions 7 to 9 than at positions 1 to 3",
                zh="差距不断扩大：第 7 到 9 个位置上的差距大于第 1 到 3 个位置",
            ),
            value=lambda runs: [
                _gap_at(trial.measured, slice(6, 9)) - _gap_at(trial.measured, slice(0, 3))
                for trial in runs.where(system="teacher-forcing")
            ],
            least=0.0,
        ),
        Threshold(
            text=Bilingual(
                en="a planted mistake is amplified: it costs at least as much 5 tokens later as 1 token later",
                zh="放入的错误会放大：5 个词之后的代价不小于 1 个词之后的代价",
            ),
            value=lambda runs: [_growth_of_cost(trial.measured) for trial in runs.where(system="teacher-forcing")],
            least=0.0,
        ),
        Threshold(
            text=Bilingual(en="scheduled sampling makes the gap smaller", zh="计划采样使差距变小"),
            value=lambda runs: [
                forcing - sampling
                for forcing, sampling in zip(
                    _gap(runs, "teacher-forcing"), _gap(runs, "scheduled-sampling"), strict=True
                )
            ],
            least=0.0,
        ),
        Threshold(
            text=Bilingual(
                en="scheduled sampling raises the accuracy after the model's own prefix",
                zh="计划采样提高了接在模型自己的前文之后的正确率",
            ),
            value=lambda runs: [
                sampling - forcing
                for sampling, forcing in zip(
                    _values(runs, "free", "scheduled-sampling"), _values(runs, "free", "teacher-forcing"), strict=True
                )
            ],
            least=0.0,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{"system": system} for system in SYSTEMS]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        updates = 60 if quick else _UPDATES
        sampling = {"sampling": "inverse-sigmoid", "sampling_half": updates // 2}
        draw = partial(task(_TASK).pairs, words=_LENGTHS)
        translator = train_translator(
            {"name": "bahdanau2014", "preset": "tiny"},
            {"pairs": f"task:{_TASK}", "count": 1500 if quick else 12_000, "words": list(_LENGTHS)},
            updates=updates,
            seed=seed,
            train_settings={"lr": 1e-2, **(sampling if settings["system"] == "scheduled-sampling" else {})},
        )
        pairs = list(draw(40 if quick else _JUDGED, 1, "test"))
        outputs = [translation.text for translation in translator.translate([pair.source for pair in pairs])]
        bleu = Counts(outputs, [pair.target for pair in pairs], metrics=["bleu"]).scores()["bleu"]
        with torch.inference_mode():
            return {"bleu": bleu, **measure_prefixes(translator, batch_of(translator, pairs))}

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        names = {name: either(system.en, system.zh) for name, system in SYSTEMS.items()}
        prefixes = {"forced": either("true prefix", "正确的前文"), "free": either("own prefix", "自己的前文")}
        by_position: dict[str, list[Value]] = {
            f"{names[system]}{either(', ', '，')}{prefixes[prefix]}": _mean_line(
                [trial.measured["by_position"][prefix] for trial in runs.where(system=system)]
            )
            for system in SYSTEMS
            for prefix in prefixes
        }
        costs = {
            names[system]: _mean_line([cost_of_mistake(trial.measured) for trial in runs.where(system=system)])
            for system in SYSTEMS
        }
        rows: list[list[Cell]] = [
            [
                names[system],
                runs.mean("forced", system=system),
                runs.mean("free", system=system),
                sum(_gap(runs, system)) / len(_gap(runs, system)),
                runs.mean("bleu", system=system),
            ]
            for system in SYSTEMS
        ]
        positions = len(next(iter(by_position.values())))
        return (
            StudyTable(
                title=either("Right tokens (%), and BLEU of a beam search", "正确的词（%），以及束搜索的 BLEU"),
                columns=[
                    either("training", "训练方法"),
                    prefixes["forced"],
                    prefixes["free"],
                    either("gap", "差距"),
                    "BLEU",
                ],
                rows=rows,
            ),
            StudyFigure(
                title=either("Right tokens by position", "各位置的正确率"),
                chart=line_chart(
                    [str(place + 1) for place in range(positions)],
                    by_position,
                    x=either("position in the target", "目标句中的位置"),
                    y=either("right (%)", "正确率（%）"),
                    either=either,
                ),
            ),
            StudyFigure(
                title=either("What a planted mistake costs", "放入一个错误的代价"),
                chart=line_chart(
                    [str(distance + 1) for distance in range(_DISTANCES)],
                    costs,
                    x=either("tokens after the mistake", "错误之后的第几个词"),
                    y=either("points lost", "降低的百分点"),
                    either=either,
                ),
                note=either(
                    "The third word is replaced by the model's likeliest wrong word.",
                    "第三个词换成了模型认为概率最高的错词。",
                ),
            ),
        )


def _mean_line(lines: Sequence[Sequence[float | None]]) -> list[Value]:
    """The mean over the seeds; a gap where one has nothing."""
    width = max(map(len, lines))
    columns = [[line[place] if place < len(line) else None for line in lines] for place in range(width)]
    means: list[Value] = []
    for column in columns:
        known = [value for value in column if value is not None]
        means.append(sum(known) / len(known) if len(known) == len(column) else None)
    return means
