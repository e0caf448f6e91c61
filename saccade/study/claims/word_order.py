"""Without positions, self-attention reads a sentence as a set of words."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from saccade.attention import Everywhere
from saccade.inspect.chart import interval_chart
from saccade.language import Bilingual
from saccade.models.radford2018 import Config as DecoderConfig
from saccade.models.radford2018 import Radford2018
from saccade.models.vaswani2017 import Config, EncoderLayer, Vaswani2017
from saccade.study.study import Cell, Either, Runs, Shown, Study, StudyFigure, StudyHeatmap, StudyTable, Threshold
from saccade.study.token_pairs import PairEncoder, TokenPair, TokenPairs, share_correct, train_on_examples
from saccade.tasks.drawing import split_of
from saccade.text import BOS, PAD

# fmt: off
_PEOPLE = (
    "我", "你", "他", "她", "爸爸", "妈妈", "哥哥", "姐姐", "弟弟", "妹妹", "爷爷", "奶奶",
    "老师", "学生", "医生", "朋友", "邻居", "同学",
)
_VERBS = ("爱", "找", "等", "问", "帮", "认识")
# fmt: on
_QUESTION = "？"
SENTENCES = (("我", "爱", "你"), ("你", "爱", "我"))
QUESTIONS: Mapping[str, Bilingual] = {
    "order": Bilingual(en="who does it to whom (order decides)", zh="谁对谁（由词序决定）"),
    "set": Bilingual(en="which two people (order is irrelevant)", zh="提到了哪两个人（与词序无关）"),
}
READERS: Mapping[str, Bilingual] = {
    "none": Bilingual(en="no positions", zh="没有位置编码"),
    "sinusoidal": Bilingual(en="sinusoidal positions", zh="正弦位置编码"),
    "learned": Bilingual(en="learned positions", zh="可学习的位置编码"),
    "rotary": Bilingual(en="rotary positions", zh="旋转位置编码"),
    "shaw2018": Bilingual(en="relative keys (Shaw)", zh="相对位置键（Shaw）"),
    "t5": Bilingual(en="relative bias (T5)", zh="相对位置偏置（T5）"),
    "alibi": Bilingual(en="ALiBi, both directions", zh="ALiBi，双向"),
    "decoder-1": Bilingual(en="causal decoder, 1 layer", zh="因果解码器，1 层"),
    "decoder-2": Bilingual(en="causal decoder, 2 layers", zh="因果解码器，2 层"),
}
_QUICK = ("none", "sinusoidal", "alibi", "decoder-1", "decoder-2")
_ENCODERS = ("none", "sinusoidal", "learned", "rotary", "shaw2018", "t5", "alibi")


def make_pairs(question: str) -> dict[str, list[TokenPair]]:
    """Every sentence with its answer; both orders of two people and a verb are in the same split."""
    splits: dict[str, list[TokenPair]] = {"train": [], "test": []}
    for first, second in combinations(_PEOPLE, 2):
        for verb in _VERBS:
            held_out = split_of(f"{first} {verb} {second}") != "train" or {first, second, verb} == set(SENTENCES[0])
            for agent, patient in ((first, second), (second, first)):
                answer = (agent, patient) if question == "order" else (first, second)
                splits["test" if held_out else "train"].append(((agent, verb, patient), answer))
    return splits


class WordOrder(Study):
    name = "word-order"
    paper = (
        "Vaswani and others (2017), Attention Is All You Need, section 3.5; Haviv and others (2022), Transformer "
        "Language Models without Positional Encodings Still Learn Positional Information"
    )
    title = Bilingual(en="我爱你 or 你爱我: attention and word order", zh="“我爱你”还是“你爱我”：注意力与词序")
    claim = Bilingual(
        en="Self-attention is a weighted sum, and a sum has no order. Without positions, 爱 (love) gets the same "
        "vector in 我爱你 (I love you) and in 你爱我 (you love me), so no layer above can tell who loves whom. The "
        "paper therefore adds positions to the input (section 3.5). A causal decoder is different: each word reads "
        "only those before it, which reveals the order even without positions (Haviv 2022).",
        zh="自注意力是加权求和，而求和与顺序无关。没有位置信息时，“爱”在“我爱你”和“你爱我”里得到同一个向量，"
        "上面再加多少层也分不清是谁爱谁。所以论文在输入上加了位置编码（第 3.5 节）。因果解码器则不同："
        "每个词只能读它前面的词，即使没有位置编码，词序也会显露出来（Haviv 2022）。",
    )
    method = Bilingual(
        en=f"The sentences are all combinations of two of {len(_PEOPLE)} people and one of {len(_VERBS)} verbs, in "
        "both orders. A Transformer with two encoder layers and one decoder layer reads a sentence and answers: who "
        "does it to whom (agent, then patient), or, as a control, which two people occur (always in the same fixed "
        "order). About a tenth of the combinations are held out, always with both orders, and decide. The decoders "
        "without an encoder read the sentence and a question mark, then write the answer. They have no positions, and "
        "one layer or two.",
        zh=f"句子由 {len(_PEOPLE)} 个人物中的两个和 {len(_VERBS)} 个动词中的一个组成，两种词序都有。Transformer "
        "有两层编码器和一层解码器，读完句子后回答：谁对谁做了这件事（先写施事，后写受事）；作为对照，"
        "也问句子里有哪两个人（答案的次序固定）。约十分之一的组合不参加训练，用来测试，同一组合的两种词序总在一起。"
        "另有只用解码器的模型：先读句子和一个问号，再写答案，没有位置编码，一层或两层。",
    )
    limits = Bilingual(
        en="Sentences of three words show the principle, not which encoding of positions is best for long texts. "
        "ALiBi was proposed for causal attention, where it works; here it is applied in both directions to show what "
        "a bias that depends only on the distance |i − j| cannot do: it reads a sentence and its mirror image alike.",
        zh="三个词的句子只说明原理，不能说明长文本用哪种位置编码最好。ALiBi 本来用于因果注意力，在那里没有问题；"
        "这里把它用在双向注意力上，是为了说明只取决于距离 |i − j| 的偏置做不到什么：一句话和它的镜像，"
        "模型读起来完全一样。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en="without positions, the vectors of each word in 我爱你 and 你爱我 differ by at most 0.001 %",
                zh="没有位置编码时，每个词在“我爱你”和“你爱我”里的向量最多相差 0.001%",
            ),
            value=lambda runs: [
                max(trial.measured["difference"]) for trial in runs.where(reader="none", question="order")
            ],
            most=0.001,
        ),
        Threshold(
            text=Bilingual(
                en="without positions, at most 55 % of the questions about order are answered correctly",
                zh="没有位置编码时，与词序有关的问题最多答对 55%",
            ),
            value=lambda runs: runs.values("correct", reader="none", question="order"),
            most=55,
        ),
        Threshold(
            text=Bilingual(
                en="without positions, at least 95 % of the other questions are answered correctly",
                zh="没有位置编码时，与词序无关的问题至少答对 95%",
            ),
            value=lambda runs: runs.values("correct", reader="none", question="set"),
            least=95,
        ),
        Threshold(
            text=Bilingual(
                en="with sinusoidal positions, at least 95 % of the questions about order are answered correctly",
                zh="有正弦位置编码时，与词序有关的问题至少答对 95%",
            ),
            value=lambda runs: runs.values("correct", reader="sinusoidal", question="order"),
            least=95,
        ),
        Threshold(
            text=Bilingual(
                en="a causal decoder of two layers without positions answers at least 95 % of them correctly",
                zh="没有位置编码的两层因果解码器，这些问题至少答对 95%",
            ),
            value=lambda runs: runs.values("correct", reader="decoder-2", question="order"),
            least=95,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        readers = _QUICK if quick else READERS
        return [{"reader": reader, "question": question} for reader in readers for question in QUESTIONS]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        pairs = make_pairs(settings["question"])
        encoder = PairEncoder([*pairs["train"], *pairs["test"]])
        reader = settings["reader"]
        torch.manual_seed(seed)
        if reader not in _ENCODERS:
            return {"correct": _train_decoder(int(reader[-1]), pairs, seed, updates=150 if quick else 600)}
        model = _make_model(reader, len(encoder.source), len(encoder.target))
        train_on_examples(model, encoder.encode(pairs["train"]), updates=100 if quick else 400, seed=seed)
        vectors, weights = _read(model, encoder.encode([(sentence, ()) for sentence in SENTENCES]).source)
        (straight, turned), places = vectors, [SENTENCES[1].index(word) for word in SENTENCES[0]]
        apart = (straight - turned[places]).norm(dim=-1) / straight.norm(dim=-1)
        return {
            "correct": share_correct(model, encoder.encode(pairs["test"])),
            "difference": (100 * apart).tolist(),
            "weights": [[[round(weight, 3) for weight in row] for row in sentence] for sentence in weights.tolist()],
        }

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        names = {reader: either(READERS[reader].en, READERS[reader].zh) for reader in runs.settings("reader")}
        questions = {question: either(text.en, text.zh) for question, text in QUESTIONS.items()}
        correct: list[list[Cell]] = [
            [names[reader], *(runs.mean("correct", reader=reader, question=question) for question in questions)]
            for reader in names
        ]
        encoders = [reader for reader in names if reader in _ENCODERS]
        differences: list[list[Cell]] = [[names[reader], *_mean_differences(runs, reader)] for reader in encoders]
        return (
            StudyFigure(
                title=either("Who loves whom?", "谁爱谁？"),
                chart=interval_chart(
                    {names[reader]: runs.interval("correct", reader=reader, question="order") for reader in names},
                    x=either("correct answers about order (%)", "与词序有关的问题答对的比例（%）"),
                    either=either,
                ),
            ),
            StudyTable(
                title=either("Correct answers (%)", "答对的比例（%）"),
                columns=[either("model", "模型"), *questions.values()],
                rows=correct,
                note=either(
                    "A model that cannot see the order gives both orders the same answer: at most one of two is "
                    "correct. One layer of a causal decoder is not enough: its last position reads the words as a "
                    "set. In the second layer, each word has already been mixed with those before it.",
                    "看不到词序的模型，对两种词序给出同一个答案，最多对一半。只有一层的因果解码器也不够："
                    "最后一个位置读到的仍然是一组没有顺序的词。到了第二层，每个词已经混入了它前面的词。",
                ),
            ),
            StudyTable(
                title=either(
                    "How much the vector of a word changes from 我爱你 to 你爱我 (%)",
                    "从“我爱你”到“你爱我”，每个词的向量变化多少（%）",
                ),
                columns=[either("positions", "位置编码"), *SENTENCES[0]],
                rows=differences,
                note=either(
                    "The length of the difference, relative to the vector's. With ALiBi in both directions, the "
                    "sentences are mirror images, and nothing changes.",
                    "差向量的长度与原向量长度之比。用双向 ALiBi 时，两句话互为镜像，所以什么也不变。",
                ),
            ),
            *(_heatmap(runs, reader, place, names[reader], either) for reader in _QUICK[:2] for place in range(2)),
        )


def _make_model(reader: str, sources: int, targets: int) -> Vaswani2017:
    added = reader if reader in ("sinusoidal", "learned", "rotary") else "none"
    relative = {"shaw2018": "shaw2018", "t5": "t5", "alibi": "press2022"}.get(reader, "vaswani2017")
    config = Config(
        width=32,
        inner=64,
        heads=4,
        encoder_layers=2,
        decoder_layers=1,
        dropout=0.0,
        longest=8,
        positions=cast(Any, added),
        encoder_attention=relative,
    )
    model = Vaswani2017(config, sources, targets)
    if reader == "alibi":
        for layer in cast(list[EncoderLayer], list(model.encoder)):
            layer.attention.attention = layer.attention.attention.with_parts(window=Everywhere())
    return model


@torch.no_grad()
def _read(model: Vaswani2017, source: Tensor) -> tuple[Tensor, Tensor]:
    """The vectors (B, S, D) that the encoder makes, and the last layer's weights, the mean of its heads (B, S, S)"""
    vectors: list[Tensor] = []
    handle = model.encoder_norm.register_forward_hook(lambda module, inputs, output: vectors.append(output))
    with model.trace() as trace:
        model.start(source, source.ne(PAD))
    handle.remove()
    return vectors[0], trace[f"encoder.{len(model.encoder) - 1}.attention.attention"].mean(1)


def _train_decoder(layers: int, pairs: Mapping[str, list[TokenPair]], seed: int, *, updates: int) -> float:
    """The share of correct answers of a causal decoder without positions, which reads the sentence as its beginning"""
    texts: dict[str, list[TokenPair]] = {"train": [], "test": []}
    for split, found in pairs.items():  # such a model reads no source, only what stands before the answer
        texts[split] = [(sentence, (*sentence, _QUESTION, *answer)) for sentence, answer in found]
    encoder = PairEncoder([*texts["train"], *texts["test"]])
    config = DecoderConfig(width=32, inner=64, heads=4, layers=layers, dropout=0.0, positions="none")
    model = Radford2018(config, len(encoder.target), len(encoder.target))
    asked = len(SENTENCES[0]) + 1  # no answer is expected before the question mark
    examples = {split: _ask_after(asked, encoder.encode(found)) for split, found in texts.items()}
    train_on_examples(model, examples["train"], updates=updates, seed=seed)
    return share_correct(model, examples["test"])


def _ask_after(tokens: int, examples: TokenPairs) -> TokenPairs:
    assert examples.inputs[0, 0] == BOS
    return examples._replace(expected=F.pad(examples.expected[:, tokens:], (tokens, 0), value=PAD))


def _mean_differences(runs: Runs, reader: str) -> list[float]:
    each = [trial.measured["difference"] for trial in runs.where(reader=reader, question="order")]
    return [sum(words) / len(words) for words in zip(*each, strict=True)]


def _heatmap(runs: Runs, reader: str, place: int, name: str, either: Either) -> StudyHeatmap:
    words = SENTENCES[place]
    return StudyHeatmap(
        title=either(f"Weights in {''.join(words)}: {name}", f"“{''.join(words)}”中的权重：{name}"),
        weights=runs.where(reader=reader, question="order")[0].measured["weights"][place],
        columns=words,
        rows=words,
        note=either("Last encoder layer, mean of the heads, seed 1.", "编码器最后一层，各注意力头的平均，随机种子 1。"),
    )
