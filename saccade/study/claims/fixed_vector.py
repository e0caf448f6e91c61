"""What the fixed vector forgets (Cho and others 2014), and what lies near in it (Sutskever, Vinyals and Le 2014)."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.data.batching import pad_sources
from saccade.decode.translator import Translator
from saccade.inspect.chart import Spot, line_chart, scatter_chart
from saccade.language import Bilingual
from saccade.models.cho2014 import Cho2014
from saccade.study.study import Either, Runs, Shown, Study, StudyFigure, StudyTable, Threshold
from saccade.study.training import train_on_tensors, train_translator
from saccade.tasks import task

_LETTERS, _LETTER_COUNT = (3, 12), 26
_LENGTHS = (4, 6, 8, 10, 12)  # of the letter sequences that are read back
_PROBED, _JUDGED, _ROWS = 3000, 1000, 250  # sequences for a probe to learn from, to judge it by, and in a batch
_WRITTEN = 250  # sequences that the decoder copies
_PEOPLE = ("king", "queen", "doctor", "teacher", "waiter", "nurse", "neighbour", "uncle")
_VERBS = ("see", "help", "call", "thank")
_ORDERS = (
    "the king will … the queen tomorrow",
    "tomorrow the king will … the queen",
    "the queen will … the king tomorrow",
    "tomorrow the queen will … the king",
)


class FixedVector(Study):
    name = "fixed-vector"
    paper = (
        "Cho, van Merriënboer, Bahdanau, Bengio (2014), On the Properties of Neural Machine Translation; Bahdanau, "
        "Cho, Bengio (2014), section 1; Sutskever, Vinyals, Le (2014), figure 2"
    )
    title = Bilingual(en="What the fixed vector forgets", zh="固定向量忘掉了什么")
    claim = Bilingual(
        en="One vector of fixed size has to hold the whole sentence, so that less of each word is left as sentences "
        "become longer (Cho, Bahdanau and others). What it holds is more than a bag of words: sentences of the same "
        "meaning lie near each other, and the same words with the roles exchanged do not (Sutskever and others).",
        zh="一个大小固定的向量要装下整个句子，句子越长，每个词留下的信息就越少（Cho、Bahdanau 等）。"
        "但它装的不只是词袋：意思相同的句子彼此靠近，词相同而角色互换的句子则相距较远（Sutskever 等）。",
    )
    method = Bilingual(
        en=f"`cho2014` learns to copy {_LETTERS[0]} to {_LETTERS[1]} random letters, through a vector of 64 numbers. "
        f"Then a linear classifier for each place is trained on the vectors of {_PROBED} new sequences, and reads the "
        f"letters of {_JUDGED} others. What the decoder itself writes is counted, too. For comparison, another "
        "classifier reads letter j from the encoder's state at j, as attention could. A second `cho2014` learns to "
        "translate from English to French. Its vectors of *the king will see the queen tomorrow* are compared with "
        "those of *tomorrow the king will see the queen* and of *the queen will see the king tomorrow*, for "
        f"{len(_PEOPLE) * (len(_PEOPLE) - 1) * len(_VERBS)} such sentences.",
        zh=f"`cho2014` 学习抄写 {_LETTERS[0]} 到 {_LETTERS[1]} 个随机字母，信息全都要经过一个 64 维的向量。"
        f"然后用 {_PROBED} 个新序列的向量，为每个位置训练一个线性分类器，再从另外 {_JUDGED} 个序列的向量里读出字母；"
        "同时统计解码器自己写对了多少。"
        "作为对照，另一个分类器从编码器在位置 j 的状态读出第 j 个字母，注意力能看到的正是这些状态。"
        "第二个 `cho2014` 学习英译法。比较 *the king will see the queen tomorrow* 的向量"
        "与 *tomorrow the king will see the queen*、*the queen will see the king tomorrow* 的向量，"
        f"这样的句子共 {len(_PEOPLE) * (len(_PEOPLE) - 1) * len(_VERBS)} 个。",
    )
    limits = Bilingual(
        en="A linear classifier finds only what is stored linearly; the decoder can read more, as its own letters "
        "show. Random letters have no redundancy: of a real sentence, more words fit. A vector of 1000 numbers forgets "
        "later. The place of *tomorrow* is the only paraphrase here, and the French translation keeps it, so that the "
        "vector must do so as well; Sutskever and others also showed passives, in a network that was trained on "
        "millions of sentences.",
        zh="线性分类器只能读出以线性方式存放的信息；从解码器写出的字母可以看到，它读到的更多。"
        "随机字母没有冗余，真实的句子能装下更多的词。1000 维的向量要到序列更长时才会遗忘。"
        "这里的同义改写只有 tomorrow 的位置，而法语译文会保留这个位置，所以向量也必须记住它；"
        "Sutskever 等还展示了被动句，他们的网络是用几百万个句子训练的。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en="of 4 letters, a linear classifier reads at least 90 % from the vector",
                zh="4 个字母：线性分类器从向量里至少能读出 90%",
            ),
            value=lambda runs: [sum(row) / len(row) for row in _right(runs, "read", 4)],
            least=90.0,
        ),
        Threshold(
            text=Bilingual(
                en="of 12 letters, a linear classifier reads at most 67 % from the vector",
                zh="12 个字母：线性分类器从向量里最多能读出 67%",
            ),
            value=lambda runs: [sum(row) / len(row) for row in _right(runs, "read", 12)],
            most=67.0,
        ),
        Threshold(
            text=Bilingual(
                en="of 12 letters, it reads at least 95 % from the state at each letter",
                zh="12 个字母：线性分类器从各字母处的状态里至少能读出 95%",
            ),
            value=lambda runs: runs.values("from_states", data="letters"),
            least=95.0,
        ),
        Threshold(
            text=Bilingual(
                en="at least 80 % of the sentences are nearer to their paraphrase than to the exchange of roles",
                zh="至少 80% 的句子，离同义改写比离角色互换更近",
            ),
            value=lambda runs: runs.values("nearer", data="sentences"),
            least=80.0,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{"data": "letters"}, {"data": "sentences"}]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        torch.manual_seed(seed)
        return _measure_letters(seed, quick) if settings["data"] == "letters" else _measure_sentences(seed, quick)

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        lines = {
            reader: {
                either(f"{length} letters", f"{length} 个字母"): _by_place(runs, reader, length)
                for length in runs.where(data="letters")[0].measured["lengths"]
            }
            for reader in ("read", "written")
        }
        places = [str(place + 1) for place in range(_LENGTHS[-1])]
        x, y = either("place in the sequence", "在序列中的位置"), either("% right", "正确率（%）")
        spots = runs.where(data="sentences")[0].measured["spots"]
        groups = {
            order: [Spot(x, y, verb) for (x, y), verb in zip(group, _VERBS, strict=True)]
            for order, group in zip(_ORDERS, spots, strict=True)
        }
        return (
            StudyFigure(
                title=either("Letters that a linear classifier reads from the vector", "线性分类器从向量里读出的字母"),
                chart=line_chart(places, lines["read"], x=x, y=y, either=either),
                note=either(
                    f"Guessing gives {100 / _LETTER_COUNT:.1f} %. From the state at each letter of 12, "
                    f"{runs.mean('from_states', data='letters'):.1f} % are right.",
                    f"随机猜测的正确率是 {100 / _LETTER_COUNT:.1f}%。从 12 个字母各自位置的状态来读，"
                    f"正确率是 {runs.mean('from_states', data='letters'):.1f}%。",
                ),
            ),
            StudyFigure(
                title=either("Letters that the decoder writes", "解码器写出的字母"),
                chart=line_chart(places, lines["written"], x=x, y=y, either=either),
                note=either(
                    "It reads more than a linear classifier, and loses its way once a letter is wrong.",
                    "解码器读到的比线性分类器多；但只要写错一个字母，后面也容易跟着错。",
                ),
            ),
            StudyFigure(
                title=either("Vectors of sentences in two dimensions", "二维平面上的句子向量"),
                chart=scatter_chart(
                    groups,
                    x=either("first component", "第一主成分"),
                    y=either("second component", "第二主成分"),
                    either=either,
                ),
                note=either(
                    "The two directions of the largest variance (PCA) of these sixteen vectors. Seed 1.",
                    "取这十六个向量方差最大的两个方向（PCA）。随机种子 1。",
                ),
            ),
            StudyTable(
                title=either("Which sentence is nearer", "哪个句子更近"),
                columns=[either("distance from the sentence to", "该句到下列句子的距离"), either("mean", "平均")],
                rows=[
                    [
                        either("its paraphrase: tomorrow first", "同义改写：tomorrow 放在句首"),
                        runs.mean("to_paraphrase", data="sentences"),
                    ],
                    [
                        either("the same words with the roles exchanged", "词相同，角色互换"),
                        runs.mean("to_exchange", data="sentences"),
                    ],
                ],
            ),
        )


def _measure_letters(seed: int, quick: bool) -> dict[str, Any]:
    translator = train_translator(
        {"name": "cho2014", "preset": "tiny"},
        {"pairs": "task:copy", "words": list(_LETTERS), "count": 5000 if quick else 50_000},
        updates=100 if quick else 2000,
        seed=seed,
    )
    probed, updates = (500, 30) if quick else (_PROBED, 400)
    lengths = _LENGTHS[:: len(_LENGTHS) - 1] if quick else _LENGTHS
    read: dict[str, list[float]] = {}
    written: dict[str, list[float]] = {}
    for length in lengths:
        texts = [
            pair.source for pair in task("copy").pairs(probed + _JUDGED, seed=2, split="test", words=(length, length))
        ]
        states, vectors = encode(translator, texts)
        letters = torch.tensor([[ord(letter) - ord("a") for letter in text.split()] for text in texts])
        read[str(length)] = probe(vectors, letters, probed, updates, seed)
        written[str(length)] = copied(translator, texts[probed : probed + _WRITTEN], length)
    at_own = states[:, :length].flatten(0, 1)  # one row per letter of the longest sequences
    from_states = probe(at_own, letters.flatten()[:, None], probed * length, updates, seed)
    return {
        "lengths": [int(length) for length in read],
        "read": read,
        "written": written,
        "from_states": from_states[0],
    }


def _measure_sentences(seed: int, quick: bool) -> dict[str, Any]:
    translator = train_translator(
        {"name": "cho2014", "preset": "tiny", "hidden": 128},
        {"pairs": "task:phrasebook-en-fr", "words": [3, 9], "count": 5000 if quick else 30_000},
        updates=100 if quick else 1200,
        seed=seed,
        train_settings={"tokens": 300 if quick else 1200},
    )
    triples = [sentence(*who, verb) for who in permutations(_PEOPLE, 2) for verb in _VERBS]
    _, vectors = encode(translator, [text for triple in triples for text in triple])
    plain, first, exchanged = torch.unflatten(vectors, 0, (len(triples), 3)).unbind(1)
    to_paraphrase, to_exchange = (plain - first).norm(dim=-1), (plain - exchanged).norm(dim=-1)
    drawn = [sentence(*who, verb)[:2] for who in (("king", "queen"), ("queen", "king")) for verb in _VERBS]
    _, points = encode(translator, [text for pair in drawn for text in pair])
    flat = torch.unflatten(project(points), 0, (2, len(_VERBS), 2)).transpose(1, 2).flatten(0, 1)  # (order, verb, 2)
    return {
        "nearer": 100 * float((to_paraphrase < to_exchange).float().mean()),
        "to_paraphrase": float(to_paraphrase.mean()),
        "to_exchange": float(to_exchange.mean()),
        "spots": flat.tolist(),
    }


def sentence(who: str, whom: str, verb: str) -> tuple[str, str, str]:
    """A sentence, its paraphrase, and the sentence with the roles exchanged."""
    return (
        f"the {who} will {verb} the {whom} tomorrow.",
        f"tomorrow the {who} will {verb} the {whom}.",
        f"the {whom} will {verb} the {who} tomorrow.",
    )


def encode(translator: Translator, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
    """h (B, S + 1, hidden) and c (B, hidden) of each text, where the source ends with its end symbol"""
    model = cast(Cho2014, translator.model)
    source, readable = pad_sources([translator.vocabularies.source.encode(text) for text in texts])
    with torch.no_grad():
        states, vectors = model.eval().encoder(model.embeddings.of_source(source), readable)
    return states, vectors


def probe(vectors: Tensor, letters: Tensor, learned: int, updates: int, seed: int) -> list[float]:
    """Train a linear classifier for each place on the first `learned` of the vectors (B, width) and letters
    (B, places), and return the percentage of right letters of the others at each place.
    """
    places = letters.shape[1]
    model = nn.Linear(vectors.shape[1], places * _LETTER_COUNT)

    def loss(module: nn.Module, tensors: tuple[Tensor, ...]) -> Tensor:
        rows, wanted = tensors
        return F.cross_entropy(module(rows).view(-1, _LETTER_COUNT), wanted.flatten(), reduction="sum") / places

    train_on_tensors(
        model, loss, (vectors[:learned], letters[:learned]), rows=_ROWS, updates=updates, seed=seed, lr=0.03
    )
    with torch.no_grad():
        read = model(vectors[learned:]).view(-1, places, _LETTER_COUNT).argmax(-1)
    right = (read == letters[learned:]).float().mean(0)
    return [100 * share for share in right.tolist()]


def copied(translator: Translator, texts: Sequence[str], length: int) -> list[float]:
    """The percentage of texts whose letter the decoder writes right, at each place."""
    pairs = [(text.split(), made.text.split()) for text, made in zip(texts, translator.translate(texts), strict=True)]
    right = [
        sum(wanted[place : place + 1] == made[place : place + 1] for wanted, made in pairs) for place in range(length)
    ]
    return [100 * count / len(pairs) for count in right]


def project(vectors: Tensor) -> Tensor:
    """The two first principal components (B, 2)"""
    centred = vectors - vectors.mean(0)
    _, _, directions = torch.linalg.svd(centred, full_matrices=False)
    projected: Tensor = centred @ directions[:2].T
    return projected


def _right(runs: Runs, reader: str, length: int) -> list[list[float]]:
    """The percentage at each place, one list per seed"""
    return [trial.measured[reader][str(length)] for trial in runs.where(data="letters")]


def _by_place(runs: Runs, reader: str, length: int) -> list[float | None]:
    means = [sum(column) / len(column) for column in zip(*_right(runs, reader, length), strict=True)]
    return [*means, *[None] * (_LENGTHS[-1] - length)]
