"""One vector for every *bank* (Mikolov 2013), or one for each occurrence (Peters 2018)."""

import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from operator import methodcaller
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from saccade import words
from saccade.data.batching import Batch
from saccade.inspect.chart import Spot, scatter_chart
from saccade.language import Bilingual
from saccade.models import elman1990, radford2018
from saccade.models.table import build_model
from saccade.study.senses import SENSES, WORD, Sentence, draw_corpus, draw_sentence
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.study.training import train_on_tensors
from saccade.text import EOS, PAD
from saccade.train.log import SilentLog
from saccade.words.map import project

_WIDTH = 48
_DRAWN = 25  # points of each sense in a figure


SENSE_NAMES: Mapping[str, Bilingual] = {
    "money": Bilingual(en="money", zh="银行"),
    "river": Bilingual(en="river", zh="河岸"),
    "row": Bilingual(en="a row of devices", zh="一排设备"),
}
MODELS: Mapping[str, Bilingual] = {
    "word2vec": Bilingual(en="word2vec", zh="word2vec"),
    "lstm": Bilingual(en="LSTM", zh="LSTM"),
    "transformer": Bilingual(en="Transformer", zh="Transformer"),
}
_CONTEXTUAL = ("lstm", "transformer")
_RATES = {"lstm": 1e-2, "transformer": 3e-3}  # of learning, with which both reach the same loss


class Polysemy(Study):
    name = "polysemy"
    paper = (
        "Mikolov et al. (2013), Distributed Representations of Words and Phrases; "
        "Peters et al. (2018), Deep Contextualized Word Representations"
    )
    title = Bilingual(en="Bank: one point, or one cluster for each sense", zh="bank：一个点，还是每个词义各成一簇")
    claim = Bilingual(
        en="word2vec gives a word one vector, whatever the sentence, so that “bank” is a single point between its "
        "meanings. The hidden states of an LSTM or a Transformer depend on the context: at “bank”, they form a "
        "cluster for each meaning, although nobody has told the model that there are several.",
        zh="word2vec 给每个词一个向量，与句子无关，所以 bank 只是夹在几个词义之间的一个点。LSTM 和 Transformer "
        "的隐藏状态随上下文而变：读到 bank 时，状态按词义各聚成一簇，而训练时没有人告诉模型 bank 有几个意思。",
    )
    method = Bilingual(
        en="A text of made-up sentences has “bank” in three senses: “after the loan the old bank invests”, “besides "
        "the river the new bank is muddy”, “despite the cable the big bank blinks”. One cue word before “bank” "
        "decides, and what follows depends on the sense; all else is drawn alike. As many sentences have a word of a "
        "single sense in the same place (lender, shore, panel). word2vec (skip-gram), an LSTM (elman1990) and a "
        f"Transformer (radford2018), {_WIDTH} wide, read the same text; the last two learn to predict the next word, "
        "and no sense is ever given to them. Their states at “bank” are classified by the nearest of three "
        "centroids, which are computed on the training text, in new sentences. The control has a neutral word in "
        "place of the cue: there, one in three is right by chance. The silhouette tells how separate the clusters "
        "are, from −1 to 1.",
        zh="用程序造出一份语料，其中 bank 有三种意思：after the loan the old bank invests（银行）、"
        "besides the river the new bank is muddy（河岸）、despite the cable the big bank blinks（一排设备）。"
        "bank 前面的一个线索词决定词义，后面的内容随词义而定，其余的词与词义无关。另有同样多的句子在这个位置用只有"
        "一个意思的词（lender、shore、panel）。word2vec（skip-gram）、LSTM（elman1990）和 Transformer（radford2018）"
        f"读同一份语料，宽度都是 {_WIDTH}；后两个模型学习预测下一个词，训练中从不给出词义。"
        "先在训练语料上算出三个词义的质心，再看新句子里 bank 处的状态离哪个质心最近。对照组把线索词换成中性词，"
        "这时只能靠猜，三次里碰对一次。轮廓系数（−1 到 1）表示各簇分得有多开。",
    )
    limits = Bilingual(
        en="The language is artificial: one cue, always before “bank”, decides. A model that reads from left to right "
        "cannot use a cue that comes later; ELMo (Peters 2018) reads in both directions, BERT in both at once. "
        "The centroids are computed with the senses known. The learning rates "
        "were chosen in trial runs, so that both networks reach about the same loss. The study shows that the states "
        "separate the senses, and does not count senses in real text.",
        zh="语料是人造的，词义由一个线索词决定，而且总在 bank 之前。从左到右读的模型用不上后面的线索；"
        "ELMo（Peters 2018）两个方向各读一遍，BERT 同时看两边。计算质心时用到了已知的词义，"
        "所以这里只说明状态能把词义分开，并没有在真实文本里找出一个词有几个意思。"
        "两个网络的学习率是试跑后选定的，使它们的损失大致相同。",
    )
    thresholds = (
        *(
            Threshold(
                text=Bilingual(
                    en=f"{MODELS[model].en}: at least 90 % of the states at “bank” are nearest to the centroid of "
                    "their sense",
                    zh=f"{MODELS[model].zh}：bank 处的状态至少 90% 离自己词义的质心最近",
                ),
                value=methodcaller("values", "nearest", model=model),
                least=90.0,
            )
            for model in _CONTEXTUAL
        ),
        *(
            Threshold(
                text=Bilingual(
                    en=f"{MODELS[model].en}, without a cue: at most 43 % (33 % are chance)",
                    zh=f"{MODELS[model].zh}，没有线索时：最多 43%（随机猜测为 33%）",
                ),
                value=methodcaller("values", "control", model=model),
                most=43.0,
            )
            for model in _CONTEXTUAL
        ),
        Threshold(
            text=Bilingual(
                en="word2vec: the words of each sense are more similar to “bank” than to those of the other senses "
                "(difference of mean cosines, of the least similar sense, above 0)",
                zh="word2vec：每个词义的词与 bank 的相似度，都高于与其他词义的词的相似度"
                "（取与 bank 最不相似的词义，平均余弦之差大于 0）",
            ),
            value=lambda runs: runs.values("between", model="word2vec"),
            least=0.0,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{"model": name} for name in MODELS]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        torch.manual_seed(seed)
        corpus = draw_corpus(Random(seed), 1_000 if quick else 6_000)
        new = [draw_sentence(Random(f"new {seed} {place}"), word=WORD) for place in range(300)]
        control = [draw_sentence(Random(f"control {seed} {place}"), word=WORD, cued=False) for place in range(300)]
        known = [sentence for sentence in corpus if sentence.words[sentence.place] == WORD][:1_000]
        if settings["model"] == "word2vec":
            vectors = _train_word_vectors(corpus, seed, epochs=2 if quick else 10)
            states = [np.repeat(vectors[WORD][None], len(part), 0) for part in (known, new, control)]
            own = _describe_point(vectors)
        else:
            model, ids = _train_language_model(settings["model"], corpus, seed, updates=60 if quick else 1_500)
            states, own = [_states_at_word(model, ids, part) for part in (known, new, control)], {}
        senses = [np.array([sentence.sense for sentence in part]) for part in (known, new, control)]
        right = [
            100 * float((nearest_centroid(states[0], senses[0], states[part]) == senses[part]).mean())
            for part in (1, 2)
        ]
        return {
            "nearest": right[0],
            "control": right[1],
            "silhouette": silhouette(states[1], senses[1]),
            **own,
            **({"points": _places(states[1], senses[1])} if settings["model"] in _CONTEXTUAL else {}),
        }

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        names = {key: either(name.en, name.zh) for key, name in SENSE_NAMES.items()}
        rows: list[list[Cell]] = [
            [
                either(model.en, model.zh),
                *(round(runs.mean(measure, model=key), 1) for measure in ("nearest", "control")),
                round(runs.mean("silhouette", model=key), 2),
            ]
            for key, model in MODELS.items()
        ]
        table = StudyTable(
            title=either("The senses of “bank”", "bank 的词义"),
            columns=[
                either("model", "模型"),
                either("nearest centroid is right, in %", "按最近质心判断正确（%）"),
                either("without a cue", "没有线索"),
                either("silhouette", "轮廓系数"),
            ],
            rows=rows,
            note=either(
                "word2vec has the same vector in every sentence, so it gives the same answer each time.",
                "word2vec 在每个句子里都是同一个向量，所以每次的回答都一样。",
            ),
        )
        draw = partial(
            scatter_chart,
            x=either("first principal component", "第一主成分"),
            y=either("second", "第二主成分"),
            either=either,
        )
        point = runs.where(model="word2vec")[0].measured["words"]
        groups = {
            **{names[sense]: [Spot(x, y, word) for word, x, y in point[sense]] for sense in SENSES},
            WORD: [Spot(x, y, WORD) for _, x, y in point[WORD]],
        }
        figures = [
            StudyFigure(
                title=either("word2vec: words", "word2vec：词"),
                chart=draw(groups),
                note=either(
                    "Words that have one sense each, and “bank”. Seed 1; principal components of the vectors.",
                    "只有一个意思的词，以及 bank。随机种子 1；对词向量做主成分分析。",
                ),
            )
        ]
        for key in _CONTEXTUAL:
            points = runs.where(model=key)[0].measured["points"]
            figures.append(
                StudyFigure(
                    title=either(f"{MODELS[key].en}: “bank” in new sentences", f"{MODELS[key].zh}：新句子里的 bank"),
                    chart=draw({names[sense]: [Spot(x, y) for x, y in points[sense]] for sense in SENSES}),
                    note=either(
                        "One point for each sentence. Seed 1; principal components of the states.",
                        "每个点是一个句子。随机种子 1；对状态做主成分分析。",
                    ),
                )
            )
        return (table, *figures)


Matrix = NDArray[np.float32]
Senses = NDArray[np.str_]


def _train_word_vectors(corpus: Sequence[Sentence], seed: int, *, epochs: int) -> words.WordVectors:
    with tempfile.TemporaryDirectory() as folder:
        text, out = Path(folder) / "text.txt", Path(folder) / "vectors"
        text.write_text("".join(f"{' '.join(sentence.words)}\n" for sentence in corpus), encoding="utf-8")
        settings = {"size": _WIDTH, "window": 10, "min_count": 1, "subsample": 0.0, "epochs": epochs, "seed": seed}
        return words.train(text, out=out, log=SilentLog(out), device="cpu", threads=1, **settings)


def _describe_point(vectors: words.WordVectors) -> dict[str, Any]:
    """How *bank* is similar to the words with a single sense, more than those of different senses are to each other."""
    places = {sense: SENSES[sense].places for sense in SENSES}
    to_bank = {
        sense: _mean([vectors.similarity(WORD, word) for word in of_sense]) for sense, of_sense in places.items()
    }
    across = [
        vectors.similarity(one, other)
        for sense, of_sense in places.items()
        for other_sense, of_other in places.items()
        if sense < other_sense
        for one in of_sense
        for other in of_other
    ]
    groups = {**places, WORD: [WORD]}
    listed = [(group, word) for group, of_group in groups.items() for word in of_group]
    points = project(np.stack([vectors[word] for _, word in listed]), "pca", 1).round(3).tolist()
    drawn: dict[str, list[list[Any]]] = {group: [] for group in groups}
    for (group, word), (x, y) in zip(listed, points, strict=True):
        drawn[group].append([word, x, y])
    return {"between": min(to_bank.values()) - _mean(across), "words": drawn}


Ids = Mapping[str, int]


def _train_language_model(name: str, corpus: Sequence[Sentence], seed: int, *, updates: int) -> tuple[nn.Module, Ids]:
    vocabulary = sorted({word for sentence in corpus for word in sentence.words})
    ids = {word: place for place, word in enumerate(vocabulary, EOS + 1)}
    size = EOS + 1 + len(ids)
    config = (
        elman1990.Config(embedding=_WIDTH, hidden=_WIDTH, cell="lstm")
        if name == "lstm"
        else radford2018.Config(width=_WIDTH, inner=2 * _WIDTH, heads=4, layers=2, longest=32, dropout=0.0)
    )
    model = build_model("elman1990" if name == "lstm" else "radford2018", config, size, size)
    batch = _batch(ids, corpus)
    return train_on_tensors(
        model,
        _prediction_loss,
        (batch.target_in, batch.target_out),
        rows=64,
        updates=updates,
        seed=seed,
        lr=_RATES[name],
    ), ids


def _batch(ids: Ids, sentences: Sequence[Sentence]) -> Batch:
    rows = [[ids[word] for word in sentence.words] for sentence in sentences]
    return Batch.of([[] for _ in rows], rows, range(len(rows)))


def _prediction_loss(model: nn.Module, tensors: tuple[Tensor, ...]) -> Tensor:
    target_in, target_out = tensors
    nothing = target_in[:, :0]
    logits = model(nothing, nothing.bool(), target_in)
    return F.cross_entropy(logits.flatten(0, 1), target_out.flatten(), ignore_index=PAD, reduction="sum")


def _states_at_word(model: Any, ids: Ids, sentences: Sequence[Sentence]) -> Matrix:
    """(N, D) what the next word is predicted from, when *bank* has been read"""
    batch = _batch(ids, sentences)
    nothing = batch.target_in[:, :0]
    with torch.no_grad():
        features = model.features(nothing, nothing.bool(), batch.target_in)
    read = torch.tensor([sentence.place + 1 for sentence in sentences])  # bos is at place 0
    states: Matrix = features[torch.arange(len(sentences)), read].numpy()
    return states


def nearest_centroid(known: Matrix, senses: Senses, new: Matrix) -> Senses:
    """The sense with the nearest mean of `known`, for each row of `new`"""
    names = np.unique(senses)
    centroids = np.stack([known[senses == name].mean(0) for name in names])
    nearest: Senses = names[np.linalg.norm(new[:, None] - centroids, axis=-1).argmin(-1)]
    return nearest


def silhouette(states: Matrix, senses: Senses) -> float:
    """The mean of (b − a) / max(a, b) (Rousseeuw 1987): a is the mean distance to the others of a point's sense, b to
    those of the nearest other sense; 0 where all points coincide."""
    distances = np.linalg.norm(states[:, None] - states, axis=-1)
    names = np.unique(senses)
    of_sense = senses == names[:, None]  # (senses, N)
    sums = distances @ of_sense.T  # (N, senses)
    own = of_sense.T
    within = sums[own] / (own @ own.sum(0) - 1)
    between = np.where(own, np.inf, sums / own.sum(0)).min(-1)
    return float(((between - within) / np.maximum(np.maximum(within, between), 1e-12)).mean())


def _places(states: Matrix, senses: Senses) -> dict[str, list[list[float]]]:
    points = project(states, "pca", 1).round(2)
    return {sense: points[senses == sense][:_DRAWN].tolist() for sense in SENSES}


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
