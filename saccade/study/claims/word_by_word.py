"""Why word by word fails (Elman 1990 against Bahdanau, Cho and Bengio 2014)."""

from collections.abc import Mapping, Sequence
from typing import Any

from saccade.language import Bilingual
from saccade.metrics import score
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyHeatmap, StudyTable, Threshold
from saccade.study.training import train_translator
from saccade.tasks import Pair, task
from saccade.text import words

_TASK, _WORDS = "phrasebook-de-en", (4, 7)
_JUDGED = 400
EXAMPLES = ("ich helfe dem Mann.", "ich kann dem Mann helfen.", "ich will dem Mann helfen.")
_HELFEN = EXAMPLES[-1]
MODELS: Mapping[str, Mapping[str, Any]] = {
    "forwards": {"name": "aligned-rnn", "preset": "tiny"},
    "both": {"name": "aligned-rnn", "preset": "tiny", "bidirectional": True},
    "attention": {"name": "bahdanau2014", "preset": "tiny"},
}
SYSTEMS: Mapping[str, Bilingual] = {
    "forwards": Bilingual(en="word by word", zh="逐词翻译"),
    "both": Bilingual(en="word by word, after reading everything", zh="先读完全句，再逐词翻译"),
    "attention": Bilingual(en="attention", zh="注意力"),
}
KINDS: Mapping[str, Bilingual] = {
    "same": Bilingual(en="the same words in the same order", zh="词数和语序都相同"),
    "later": Bilingual(en="an English word needs a later German word", zh="某个英语词要靠后面的德语词才能确定"),
    "other": Bilingual(
        en="the others: more English words, none needed early", zh="其余：英语词更多，但都不必等后面的德语词"
    ),
}


class WordByWord(Study):
    name = "word-by-word"
    paper = (
        "Elman (1990), Finding Structure in Time; Bahdanau, Cho, Bengio (2014), Neural Machine Translation by Jointly "
        "Learning to Align and Translate, section 1"
    )
    title = Bilingual(en="Why word by word fails", zh="为什么不能逐词翻译")
    claim = Bilingual(
        en="A network that writes one word for each word that it reads must write before it has read what it needs: "
        "in *ich will dem Mann helfen*, the verb *help* is the last word. A decoder with attention looks for the words "
        "that each target word needs, wherever they are.",
        zh="读一个词就写一个词的网络，往往还没读到需要的词就得下笔：在 *ich will dem Mann helfen* 里，"
        "动词 helfen（帮助）是最后一个词。带注意力的解码器写每个词时，都会到源句里找它需要的词，不管这些词在哪里。",
    )
    method = Bilingual(
        en=f"Three models are trained on German–English sentences of {_WORDS[0]} to {_WORDS[1]} words of the built-in "
        "phrasebook: `aligned-rnn` (a tanh network that writes one word at each word that it reads, and one at the end "
        "of the sentence), the same with both directions (it has read the whole sentence, but still writes one word "
        f"per word), and `bahdanau2014`. The score is the share of exactly right translations of {_JUDGED} sentences "
        "whose combinations of words did not occur in training. The gold alignment of the phrasebook tells which "
        "sentences have an English word that is linked to a German word further to the right.",
        zh=f"用内置短语集中 {_WORDS[0]} 到 {_WORDS[1]} 个词的德英句对训练三个模型："
        "`aligned-rnn`（tanh 循环网络，每读一个词就写一个词，句末还可以再写一个）、"
        "它的双向版本（已经读完全句，但仍然一个词对一个词地写），以及 `bahdanau2014`。"
        f"评分用 {_JUDGED} 个句子，其中的词语搭配没有在训练中出现过，统计译文完全正确的比例。"
        "短语集带有标准对齐，由此可以知道哪些句子里有英语词对应到更靠右的德语词。",
    )
    limits = Bilingual(
        en="Elman did not translate; his network predicts the next word, and stands here for every network that writes "
        "as it reads. A later word can sometimes be guessed: after *ich will dem*, the dative leaves only a few verbs, "
        "*helfen* among them. So some sentences come out right by luck. The sentences are short and made by a grammar, "
        "and the three examples may be among those in training. An encoder-decoder with a fixed vector reorders words, "
        "too, without attention: see the study `length`.",
        zh="Elman 的网络不做翻译，而是预测下一个词；这里用它代表一切边读边写的网络。后面的词有时可以猜到："
        "读到 *ich will dem*，第三格就只剩下几个动词可选，helfen 是其中之一，所以有些句子是碰巧译对的。"
        "句子很短，由语法规则生成；三个例句可能在训练数据里出现过。"
        "只用一个固定向量、没有注意力的编码器-解码器也能调整语序，见小实验 `length`。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en="word by word, at least 50 % of the sentences with the same order are right",
                zh="逐词翻译：词数和语序都相同的句子，至少 50% 译对",
            ),
            value=lambda runs: runs.values("same", system="forwards"),
            least=50.0,
        ),
        Threshold(
            text=Bilingual(
                en="word by word, at most 10 % of the sentences that need a later word are right",
                zh="逐词翻译：要靠后面的词才能确定的句子，最多 10% 译对",
            ),
            value=lambda runs: runs.values("later", system="forwards"),
            most=10.0,
        ),
        Threshold(
            text=Bilingual(
                en="with attention, at least 90 % of the sentences that need a later word are right",
                zh="用注意力：要靠后面的词才能确定的句子，至少 90% 译对",
            ),
            value=lambda runs: runs.values("later", system="attention"),
            least=90.0,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{"system": system} for system in MODELS]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        translator = train_translator(
            MODELS[settings["system"]],
            {"pairs": f"task:{_TASK}", "words": list(_WORDS), "count": 10_000 if quick else 30_000},
            updates=500 if quick else 1500,
            seed=seed,
            train_settings={"tokens": 800},
        )
        pairs = list(task(_TASK).pairs(100 if quick else _JUDGED, seed=1, split="test", words=_WORDS))
        written = translator.translate([*EXAMPLES, *(pair.source for pair in pairs)])
        judged = [translation.text for translation in written[len(EXAMPLES) :]]
        helfen = written[len(EXAMPLES) - 1]
        weights = [] if helfen.weights is None else [[round(w, 3) for w in row] for row in helfen.weights.tolist()]
        return {
            **_share_exact(pairs, judged),
            "sentences": {kind: sum(kind_of(pair) == kind for pair in pairs) for kind in KINDS},
            "examples": [translation.text for translation in written[: len(EXAMPLES)]],
            "weights": weights,
        }

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        names = {name: either(system.en, system.zh) for name, system in SYSTEMS.items()}
        kinds = {kind: either(text.en, text.zh) for kind, text in KINDS.items()}
        first = {name: runs.where(system=name)[0].measured for name in MODELS}
        sentences = first["attention"]["sentences"]
        shares: list[list[Cell]] = [
            [kinds[kind], str(sentences[kind]), *(runs.mean(kind, system=name) for name in MODELS)] for kind in KINDS
        ]
        examples: list[list[Cell]] = [
            [text, *(first[name]["examples"][place] for name in MODELS)] for place, text in enumerate(EXAMPLES)
        ]
        helfen = first["attention"]
        return (
            StudyTable(
                title=either("What each model writes", "各模型写出的译文"),
                columns=["", *names.values()],
                rows=examples,
                note=either("Seed 1.", "随机种子 1。"),
            ),
            StudyTable(
                title=either("Exactly right translations, in %", "完全正确的译文（%）"),
                columns=[either("sentences", "句子"), either("number", "句数"), *names.values()],
                rows=shares,
            ),
            StudyHeatmap(
                title=either("Where attention looks", "注意力看向哪里"),
                weights=helfen["weights"],
                columns=words(_HELFEN),
                rows=words(helfen["examples"][-1]),
                note=either("Rows: the words written. Seed 1.", "每行是写出的一个词。随机种子 1。"),
            ),
        )


def kind_of(pair: Pair) -> str:
    """Which of KINDS a pair is, by its gold alignment. Word j is written when the words up to j have been read."""
    links = pair.alignment or ()
    if any(read > written for read, written in links):
        return "later"
    places = range(len(words(pair.source)))
    return "same" if links == tuple((i, i) for i in places) and len(places) == len(words(pair.target)) else "other"


def _share_exact(pairs: Sequence[Pair], written: Sequence[str]) -> dict[str, float]:
    """The percentage of exact translations of each kind that occurs."""
    shares = {}
    for kind in KINDS:
        chosen = [(pair.target, text) for pair, text in zip(pairs, written, strict=True) if kind_of(pair) == kind]
        targets, texts = [target for target, _ in chosen], [text for _, text in chosen]
        shares[kind] = score(texts, targets, metrics=["exact"])["exact"]
    return shares
