"""Kalchbrenner and Blunsom (2013): a sentence vector made by convolutions knows the order of the words."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.data.batching import Batch
from saccade.inspect.chart import Value, line_chart
from saccade.language import Bilingual
from saccade.models.kalchbrenner2013 import Config, Kalchbrenner2013
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.study.training import train_on_tensors
from saccade.tasks import Pair, task
from saccade.text import EOS, PAD

_WIDTH = 96
_LENGTHS = (2, 5)
_FIRST_LETTER = EOS + 1
_SYMBOLS = _FIRST_LETTER + 26
_TESTED = 500
TASKS: Mapping[str, Bilingual] = {
    "copy": Bilingual(en="write the letters again", zh="照原样写出字母"),
    "sort": Bilingual(en="write them in the order of the alphabet", zh="按字母表的顺序写出字母"),
}
ENCODERS: Mapping[str, Bilingual] = {
    "convolution": Bilingual(en="convolutions", zh="卷积"),
    "bag": Bilingual(en="bag of words", zh="词袋"),
}


class BagOfWords(nn.Module):
    """tanh(W Σ_j E x_j): the same vector for every order of the words"""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.of_sum = nn.Linear(width, width)

    def forward(self, embedded: Tensor, readable: Tensor) -> Tensor:
        """embedded (B, S, q), readable (B, S) → (B, q)"""
        return torch.tanh(self.of_sum(embedded.masked_fill(~readable[..., None], 0.0).sum(1)))


class ConvolutionOrder(Study):
    name = "convolution-order"
    paper = "Kalchbrenner & Blunsom (2013), Recurrent Continuous Translation Models"
    title = Bilingual(en="A convolution knows the order of the words", zh="卷积能分辨词序")
    claim = Bilingual(
        en="The convolutional sentence model turns a sentence into one vector, and the translations that a recurrent "
        "network writes from this vector are sensitive to the order of the source words. A sum of word vectors has "
        "no order: it is enough only where the order does not matter.",
        zh="卷积句子模型把一句话变成一个向量；循环网络根据这个向量写出的译文，对源句的词序很敏感。"
        "词向量之和不含词序信息，只有在词序无关紧要时才够用。",
    )
    method = Bilingual(
        en=f"Two models with the same decoder (kalchbrenner2013, width {_WIDTH}, with a GRU) read sequences of "
        f"{_LENGTHS[0]} to {_LENGTHS[1]} random letters. One encodes them by convolutions, the other by a bag of "
        "words: a layer above the sum of the word vectors. They learn to copy the letters, for which the order "
        "decides, and to sort them, for which it does not. A new sequence counts if all letters are right; guessing "
        "the order of five different letters succeeds once in 120 times.",
        zh=f"两个模型的解码器相同（kalchbrenner2013，宽度 {_WIDTH}，GRU 单元），都读入 {_LENGTHS[0]} 到 {_LENGTHS[1]} "
        "个随机字母。一个用卷积编码，另一个用词袋编码，即词向量之和再加一层网络。两个任务：照原样写出字母，取决于顺序；"
        "按字母表排序，与顺序无关。新序列的字母全部写对才算对；要猜中五个不同字母的顺序，120 次才有一次成功。",
    )
    limits = Bilingual(
        en="The paper translates French and English and compares perplexities with those of word-based models; it has "
        "no bag of words, and its decoder is a plain recurrent network. The sequences here are short because one "
        "small vector has to hold them. The study does not test long sentences, for which such a vector is too narrow, "
        "nor stacked convolutions with attention (gehring2017).",
        zh="论文做的是法语与英语之间的翻译，拿困惑度与基于词的模型比较，没有词袋模型，解码器是普通的循环网络。"
        "这里的序列都很短，因为一个不大的向量要装下整个序列。长句子装不进这样的向量，多层卷积加注意力（gehring2017）"
        "又是另一回事，这里都没有涉及。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en="copying: at least 50 points more sequences are right with convolutions than with a bag of words",
                zh="照原样写：用卷积写对的序列比用词袋至少多 50 个百分点",
            ),
            value=lambda runs: _advantage(runs, "copy"),
            least=50.0,
        ),
        Threshold(
            text=Bilingual(
                en="sorting: convolutions are right at most 10 points more often",
                zh="排序：用卷积写对的序列比用词袋最多多 10 个百分点",
            ),
            value=lambda runs: _advantage(runs, "sort"),
            most=10.0,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{"task": name, "encoder": encoder} for name in TASKS for encoder in ENCODERS]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        torch.manual_seed(seed)
        known = _batch(settings["task"], 2_000 if quick else 40_000, seed, "train")
        model = Kalchbrenner2013(Config(embedding=_WIDTH, hidden=_WIDTH, cell="gru"), _SYMBOLS, _SYMBOLS)
        if settings["encoder"] == "bag":
            model.encoder = BagOfWords(_WIDTH)  # type: ignore[assignment]
        tensors = (known.source, known.source_readable, known.target_in, known.target_out)
        train_on_tensors(model, _loss, tensors, rows=128, updates=60 if quick else 1_500, seed=seed)
        new = _batch(settings["task"], _TESTED, seed, "test")
        right = right_sequences(model, new)
        lengths = new.source_readable.sum(1) - 1  # without eos
        by_length = {
            str(length): 100 * float(right[lengths == length].float().mean())
            for length in range(_LENGTHS[0], _LENGTHS[1] + 1)
        }
        return {"right": 100 * float(right.float().mean()), "by_length": by_length}

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        systems = {
            either(f"{encoder.en}: {name}", f"{encoder.zh}：{'照原样写' if name == 'copy' else '排序'}"): runs.where(
                task=name, encoder=key
            )
            for name in TASKS
            for key, encoder in ENCODERS.items()
        }
        lengths = list(runs[0].measured["by_length"])
        lines: dict[str, list[Value]] = {
            label: [_mean([trial.measured["by_length"][length] for trial in trials]) for length in lengths]
            for label, trials in systems.items()
        }
        rows: list[list[Cell]] = [
            [
                either(encoder.en, encoder.zh),
                *(round(runs.mean("right", task=name, encoder=key), 1) for name in TASKS),
            ]
            for key, encoder in ENCODERS.items()
        ]
        return (
            StudyTable(
                title=either("New sequences that are right, in %", "写对的新序列（%）"),
                columns=[either("encoder", "编码器"), *(either(name.en, name.zh) for name in TASKS.values())],
                rows=rows,
            ),
            StudyFigure(
                title=either("By the number of letters", "按字母数"),
                chart=line_chart(
                    lengths,
                    lines,
                    x=either("letters", "字母数"),
                    y=either("right sequences, in %", "写对的序列（%）"),
                    either=either,
                ),
                note=either(
                    "When it copies, a bag of words knows which letters to write, and has to guess their order.",
                    "照原样写的时候，词袋知道该写哪些字母，顺序却只能猜。",
                ),
            ),
        )


def _advantage(runs: Runs, name: str) -> list[float]:
    """Of convolutions over a bag of words, in points, one per seed"""
    both = (runs.values("right", task=name, encoder=encoder) for encoder in ("convolution", "bag"))
    return [convolution - bag for convolution, bag in zip(*both, strict=True)]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _batch(name: str, count: int, seed: int, split: str) -> Batch:
    pairs = list(task(name).pairs(count, seed, split, _LENGTHS))
    sources, targets = zip(*map(_ids, pairs), strict=True)
    return Batch.of(sources, targets, range(len(pairs)))


def _ids(pair: Pair) -> tuple[list[int], list[int]]:
    source, target = (
        [_FIRST_LETTER + ord(letter) - ord("a") for letter in text.split()] for text in (pair.source, pair.target)
    )
    return source, target


def _loss(model: nn.Module, tensors: tuple[Tensor, ...]) -> Tensor:
    source, readable, target_in, target_out = tensors
    logits = model(source, readable, target_in)
    return F.cross_entropy(logits.flatten(0, 1), target_out.flatten(), ignore_index=PAD, reduction="sum")


def right_sequences(model: nn.Module, batch: Batch) -> Tensor:
    """Whether greedy search writes exactly the target: each symbol is the most probable one after those before it."""
    with torch.no_grad():
        best = model(batch.source, batch.source_readable, batch.target_in).argmax(-1)
    right: Tensor = ((best == batch.target_out) | ~batch.target_readable).all(1)
    return right
