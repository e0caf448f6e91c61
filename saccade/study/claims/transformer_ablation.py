"""The Transformer with parts removed or replaced."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import torch

from saccade.inspect.chart import interval_chart, line_chart
from saccade.language import Bilingual
from saccade.models.vaswani2017 import Config, Vaswani2017
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.study.token_pairs import number_examples, share_correct, train_on_examples

_DIGITS = (2, 6)
_TRAINED, _UPDATES, _EVERY = 6000, 400, 50
_WHOLE = Config(width=32, inner=64, heads=4, encoder_layers=3, decoder_layers=3, dropout=0.0, longest=32)
_QUICK = replace(_WHOLE, encoder_layers=1, decoder_layers=1)
# What each variant changes, in the words of a recipe: model.NAME = VALUE.
VARIANTS: Mapping[str, tuple[Bilingual, Mapping[str, Any]]] = {
    "whole": (Bilingual(en="whole model", zh="完整模型"), {}),
    "no positions": (Bilingual(en="no positions", zh="去掉位置编码"), {"positions": "none"}),
    "learned positions": (Bilingual(en="learned positions", zh="换成可学习的位置编码"), {"positions": "learned"}),
    "rotary positions": (Bilingual(en="rotary positions", zh="换成旋转位置编码"), {"positions": "rotary"}),
    "one head": (Bilingual(en="one head", zh="只用 1 个头"), {"heads": 1}),
    "eight heads": (Bilingual(en="eight heads", zh="用 8 个头"), {"heads": 8}),
    "no residual": (Bilingual(en="no residual", zh="去掉残差连接"), {"residual": False}),
    "no norm": (Bilingual(en="no norm", zh="去掉层归一化"), {"norm_kind": "none"}),
    "RMS norm": (Bilingual(en="RMSNorm", zh="换成 RMSNorm"), {"norm_kind": "rms"}),
    "post-norm": (Bilingual(en="norm after the sum", zh="归一化放在相加之后（post-norm）"), {"norm": "post"}),
    "no feed-forward": (Bilingual(en="no feed-forward", zh="去掉前馈网络"), {"feed_forward": "none"}),
    "convolution": (Bilingual(en="convolution, 3 wide", zh="前馈网络换成宽 3 的卷积"), {"feed_forward": "convolution"}),
    "gated": (Bilingual(en="gated feed-forward", zh="换成门控前馈网络"), {"feed_forward": "gated"}),
}

_DRAWN = ("whole", "learned positions", "one head", "no norm", "no feed-forward", "convolution")


def _loss_of(variant: str) -> Callable[[Runs], list[float]]:
    """How many points less than the whole model, per seed"""

    def points(runs: Runs) -> list[float]:
        whole, changed = runs.values("correct", variant="whole"), runs.values("correct", variant=variant)
        return [before - after for before, after in zip(whole, changed, strict=True)]

    return points


def _is_needed(variant: str, en: str, zh: str) -> Threshold:
    return Threshold(
        text=Bilingual(en=f"without {en}, at least 5 points less", zh=f"去掉{zh}，至少低 5 个百分点"),
        value=_loss_of(variant),
        least=5,
    )


class TransformerAblation(Study):
    name = "transformer-ablation"
    paper = "Vaswani and others (2017), Attention Is All You Need, sections 3 and 6.2 (table 3)"
    title = Bilingual(en="The Transformer without one of its parts", zh="Transformer 少了一个部件会怎样")
    claim = Bilingual(
        en="The paper builds each layer from attention, a feed-forward network, residual connections and layer "
        "normalisation, and adds positions to the input. Its own ablations (table 3, English to German) vary heads "
        "and positions: a single head loses 0.9 BLEU against the best number of heads, and learned positions are "
        "nearly identical to sinusoidal ones. It did not remove residuals, norms or feed-forward networks. Here we "
        "test whether each is needed; the feed-forward network, which the paper describes as two convolutions of "
        "width 1, can also be a wider one.",
        zh="论文中每一层都由注意力、前馈网络、残差连接和层归一化组成，输入上再加位置编码。论文自己的消融实验（表 3，"
        "英译德）改变了头数和位置编码：只用一个头，比最好的头数低 0.9 BLEU；"
        "可学习的位置编码与正弦位置编码几乎没有差别。论文没有去掉过残差、归一化或前馈网络。"
        "这里检验它们是否都不可缺少。论文把前馈网络看作两个宽度为 1 的卷积，所以也可以换成更宽的卷积。",
    )
    method = Bilingual(
        en=f"Small Transformers ({_WHOLE.encoder_layers} + {_WHOLE.decoder_layers} layers, width {_WHOLE.width}, "
        f"{_WHOLE.heads} heads, norm before each function) learn to write numbers of {_DIGITS[0]} to {_DIGITS[1]} "
        "digits in Chinese: 1005 → 一千零五. A digit's name depends on its place, and zeros on their neighbours. Each "
        "variant changes one option of `vaswani2017` and has the same number of updates, examples and seeds. Measured "
        f"every {_EVERY} updates: the share of 500 unseen numbers that greedy search writes without an error, in "
        f"percent. The thresholds are about the end, after {_UPDATES} updates.",
        zh=f"小型 Transformer（编码器和解码器各 {_WHOLE.encoder_layers} 层，宽 {_WHOLE.width}，{_WHOLE.heads} 个头，"
        f"每个子层之前做层归一化）学习用汉字写 {_DIGITS[0]} 到 {_DIGITS[1]} 位的数：1005 → 一千零五。"
        "一个数字怎么写取决于它的位置，零怎么写还取决于相邻的数字。每种变体只改 `vaswani2017` 的一个选项，更新次数、"
        f"训练数据和随机种子都相同。每 {_EVERY} 次更新测量一次：500 个没见过的数中，贪心搜索写得完全正确的百分比。"
        f"标准针对的是最终结果，即 {_UPDATES} 次更新之后。",
    )
    limits = Bilingual(
        en="A rule learnt by a small model in a few hundred updates is not translation: a part that does not matter "
        "here may matter in a deep model, with long texts or with noisy data. All variants use the learning rate of "
        "the whole model, which may not suit them best: the norm after the sum, as published, is known to need a "
        "longer warm-up (Xiong 2020). Where the whole model makes hardly any error in the end, a part that only "
        "speeds up learning shows in the curves alone. Variants without a part have fewer parameters.",
        zh="小模型用几百次更新学会一条规则，不等于翻译：在这里无关紧要的部件，在深层模型、"
        "长文本或有噪声的数据上可能很重要。所有变体都用完整模型的学习率，对它们未必是最合适的："
        "按原论文放在相加之后的归一化，就需要更长的预热（Xiong 2020）。完整模型最后几乎不出错，"
        "如果一个部件只是让学习变快，就只能从学习曲线上看出来。去掉部件的变体，参数也更少。",
    )
    thresholds = (
        _is_needed("no positions", "positions", "位置编码"),
        _is_needed("no residual", "residual connections", "残差连接"),
        _is_needed("no norm", "norms", "层归一化"),
        _is_needed("no feed-forward", "feed-forward networks", "前馈网络"),
        Threshold(
            text=Bilingual(en="with one head, at least 1 point less", zh="只用 1 个头，至少低 1 个百分点"),
            value=_loss_of("one head"),
            least=1,
        ),
        Threshold(
            text=Bilingual(
                en="learned positions differ from sinusoidal ones by at most 5 points",
                zh="可学习的位置编码与正弦位置编码最多相差 5 个百分点",
            ),
            value=lambda runs: [abs(points) for points in _loss_of("learned positions")(runs)],
            most=5,
        ),
        Threshold(
            text=Bilingual(
                en="with convolutions instead of feed-forward networks, at most 5 points less",
                zh="前馈网络换成卷积，最多低 5 个百分点",
            ),
            value=_loss_of("convolution"),
            most=5,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{"variant": variant} for variant in VARIANTS]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        _, changes = VARIANTS[settings["variant"]]
        encoder, train, test = number_examples(digits=_DIGITS, count=500 if quick else _TRAINED)
        torch.manual_seed(seed)
        config = replace(_QUICK if quick else _WHOLE, **changes)
        model = Vaswani2017(config, len(encoder.source), len(encoder.target))
        learning: list[float] = []
        train_on_examples(
            model,
            train,
            updates=_EVERY if quick else _UPDATES,
            seed=seed,
            observe=lambda updates: learning.append(share_correct(model, test)),
            every=_EVERY,
        )
        return {
            "correct": learning[-1],
            "learning": learning,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
        }

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        names = {variant: either(text.en, text.zh) for variant, (text, _) in VARIANTS.items()}
        whole = runs.mean("correct", variant="whole")
        rows: list[list[Cell]] = []
        for variant, (_, changes) in VARIANTS.items():
            correct = runs.interval("correct", variant=variant)
            option = ", ".join(f"model.{name} = {_toml(value)}" for name, value in changes.items())
            changed = correct.mean - whole if changes else None
            rows.append([names[variant], option, int(runs.mean("parameters", variant=variant)), correct.mean, changed])
        return (
            StudyFigure(
                title=either("With parts removed or replaced", "去掉或替换部件之后"),
                chart=interval_chart(
                    {names[variant]: runs.interval("correct", variant=variant) for variant in VARIANTS},
                    x=either("numbers without an error (%)", "完全正确的数（%）"),
                    either=either,
                ),
            ),
            StudyFigure(
                title=either("While they learn", "学习过程"),
                chart=line_chart(
                    [str(_EVERY * (place + 1)) for place in range(len(runs[0].measured["learning"]))],
                    {names[variant]: _mean_learning(runs, variant) for variant in _DRAWN},
                    x=either("updates", "更新次数"),
                    y=either("numbers without an error (%)", "完全正确的数（%）"),
                    either=either,
                ),
                note=either(
                    "Means over the seeds. Some parts matter for how fast the model learns more than for what it "
                    "reaches in the end.",
                    "各随机种子的平均。有些部件对学得快慢的影响，比对最终结果的影响大。",
                ),
            ),
            StudyTable(
                title=either("Each variant", "各种变体"),
                columns=[
                    either("variant", "变体"),
                    either("option", "选项"),
                    either("parameters", "参数量"),
                    either("correct (%)", "正确（%）"),
                    either("change", "变化"),
                ],
                rows=rows,
                note=either("Means over the seeds.", "各随机种子的平均。"),
            ),
        )


def _mean_learning(runs: Runs, variant: str) -> list[float]:
    each = [trial.measured["learning"] for trial in runs.where(variant=variant)]
    return [fmean(values) for values in zip(*each, strict=True)]


def _toml(value: bool | int | str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
