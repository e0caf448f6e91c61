"""The diagrams of the steps after attention: scores and windows, self-attention, the Transformer, and what followed."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import torch
from drawing import Diagram, Place

from saccade.attention import ALiBi, Attention, Bias, Causal, Dot, Sliding, Window
from saccade.study.study import Either


def draw_luong(either: Either) -> Diagram:
    """Two steps of Luong's decoder: the new state asks, and what it read is fed to the next step."""
    draw = Diagram(720, 420, either("Two steps of Luong's decoder", "Luong 解码器的两步"))
    words, weights = ["ich", "will", "dem", "helfen"], [0.1, 0.1, 0.1, 0.7]
    before, state, read_before, read = (90, 310), (270, 310), (90, 140), (270, 140)
    context = (550, 140)
    for place, (word, weight) in enumerate(zip(words, weights, strict=True)):
        x = 445 + 78 * place
        draw.weight((x, 235), context, weight, gap=20)
        draw.arrow((x, 310), (x, 235), colour="rule")
        draw.circle((x, 235), f"{weight:.1f}".removeprefix("0"), radius=18, colour=1)
        draw.arrow((x, 372), (x, 310), start_gap=0)
        draw.box((x, 310), f"h̄{'₁₂₃₄'[place]}", size=(56, 38), colour=0)
        draw.text((x, 385), word)
    for at, text, word in ((before, "hₜ₋₁", "yₜ₋₂"), (state, "hₜ", "yₜ₋₁")):
        draw.arrow((at[0], 372), at, start_gap=0)
        draw.box(at, text, size=(70, 40), colour=2)
        draw.text((at[0], 385), word)
    for at, below, text, word in ((read_before, before, "h̃ₜ₋₁", "yₜ₋₁"), (read, state, "h̃ₜ", "yₜ")):
        draw.arrow(below, at, gap=23, colour=2)
        draw.arrow(at, (at[0], 82), gap=0, start_gap=22, colour=3)
        draw.box(at, text, size=(70, 40), colour=3)
        draw.text((at[0], 66), word)
    draw.box(context, "cₜ", size=(64, 38), colour=1)
    draw.arrow(context, read, gap=38, start_gap=34, colour=1)
    draw.arrow(before, state, gap=37, colour=2)
    draw.arrow((307, 292), (423, 243), gap=0, start_gap=2, colour=2, dashed=True)
    draw.arrow((110, 162), (246, 288), gap=0, start_gap=0, colour=3, dashed=True)
    draw.text((160, 186), either("input feeding", "输入反馈"), small=True, faint=True, left=True)
    draw.text((362, 246), either("asks", "发问"), small=True, faint=True)
    draw.text((412, 124), either("context", "上下文"), small=True, faint=True)
    draw.text((180, 24), either("the decoder", "解码器"), faint=True)
    draw.text((560, 24), either("the source", "源句"), faint=True)
    return draw


def draw_windows(either: Either) -> Diagram:
    """The weights of one query under global attention, local-m and local-p; the scores are the same."""
    draw = Diagram(720, 400, either("Global and local attention", "全局注意力与局部注意力"))
    scores = [0.2, 0.5, 0.1, 0.9, 1.2, 0.3, 0.6, 2.0, 2.6, 1.1, 0.4, 0.2]
    radius, time, predicted = 2, 4, 8.5
    near = [scores[j] if abs(j - time) <= radius else -math.inf for j in range(len(scores))]
    around = [scores[j] if abs(j - predicted) <= radius else -math.inf for j in range(len(scores))]
    taper = [math.exp(-2 * ((j - predicted) / radius) ** 2) for j in range(len(scores))]
    rows = (
        ("global", either("every word", "看每一个词"), _softmax(scores), None),
        ("local-m", either("around word t", "第 t 个词附近"), _softmax(near), time),
        (
            "local-p",
            either("around a predicted p", "预测位置 p 附近"),
            [weight * factor for weight, factor in zip(_softmax(around), taper, strict=True)],
            predicted,
        ),
    )
    for row, (name, note, weights, centre) in enumerate(rows):
        ground = 112 + 115 * row
        draw.text((86, ground - 34), name, strong=True)
        draw.text((86, ground - 14), note, small=True, faint=True)
        draw.text((672, ground - 24), either("sum", "和") + f" {sum(weights):.2f}", small=True, faint=True)
        for place, weight in enumerate(weights):
            x, height = _column(place), 150 * weight
            if weight:
                draw.box((x, ground - height / 2), "", size=(22, max(height, 3)), colour=1)
            else:
                draw.text((x, ground - 6), "0", small=True, faint=True)
        if centre is not None:
            left, right = _column(centre - radius) - 12, _column(centre + radius) + 12
            draw.frame((left, ground - 84), (right - left, 92), "")
            draw.arrow((_column(centre), ground + 25), (_column(centre), ground + 6), gap=0, colour=2)
            draw.text((_column(centre) + 14, ground + 20), "t" if centre == time else "p", small=True, faint=True)
    for place in range(len(scores)):
        draw.text((_column(place), 384), str(place + 1), small=True, faint=True)
    draw.text((86, 384), either("source word", "源语词"), small=True, faint=True)
    return draw


def _column(place: float) -> float:
    return 196 + 38 * place


def _softmax(scores: Sequence[float]) -> list[float]:
    exponentials = [math.exp(score) for score in scores]
    return [each / sum(exponentials) for each in exponentials]


def draw_query_key_value(either: Either) -> Diagram:
    """A search: the query is compared with titles, and what is watched is a mixture of the videos."""
    draw = Diagram(720, 370, either("Query, key and value", "查询、键、值"))
    titles = either(
        "Bread for beginners|Pizza dough at home|Repair your bicycle", "家常红烧肉|红烧鱼的做法|自行车修理"
    ).split("|")
    videos = either("▶ bread|▶ pizza|▶ bicycle", "▶ 红烧肉|▶ 红烧鱼|▶ 自行车").split("|")
    scores = [2.0, 1.0, 0.0]
    query, result = (88, 190), (652, 190)
    for x, name in ((88, either("query", "查询")), (280, either("keys", "键")), (420, either("weights", "权重"))):
        draw.text((x, 26), name, strong=True)
    draw.text((530, 26), either("values", "值"), strong=True)
    draw.text((652, 26), either("what is read", "读到的"), strong=True)
    for place, (title, video, score, weight) in enumerate(zip(titles, videos, scores, _softmax(scores), strict=True)):
        y = 90 + 100 * place
        draw.arrow((161, 190), (192, y), gap=3, start_gap=0, colour=2)
        draw.arrow((366, y), (420, y), gap=24, start_gap=2, colour="rule")
        draw.weight((444, y), (492, y), weight, gap=2)
        draw.weight((568, y), result, weight, gap=0)
        draw.box((280, y), title, size=(172, 44), colour=0, note=either(f"score {score:.0f}", f"分数 {score:.0f}"))
        draw.circle((420, y), f"{weight:.2f}".removeprefix("0"), radius=21, colour=1)
        draw.box((530, y), video, size=(78, 40), colour=3)
    draw.box(query, either("how to bake bread", "红烧肉怎么做"), size=(144, 44), colour=2)
    draw.box(result, either("a mixture", "混合"), size=(100, 44), colour=1)
    draw.text((320, 348), either("softmax of the scores 2, 1, 0", "分数 2、1、0 的 softmax"), small=True, faint=True)
    draw.text((620, 348), either("mostly bread", "主要是红烧肉"), small=True, faint=True)
    return draw


def draw_complete_graph(either: Either) -> Diagram:
    """A chain, a complete graph, and the view that two equal words have of their sentence."""
    draw = Diagram(720, 380, either("From a chain to a complete graph", "从一条链到一张完全图"))
    words = either("I can open the can", "她 花 钱 买 花").split()
    draw.text((130, 24), either("recurrent: a chain", "循环网络：一条链"), strong=True)
    draw.text((478, 24), either("self-attention: every pair", "自注意力：两两相连"), strong=True)
    chain = [(130, 70 + 62 * place) for place in range(5)]
    for place, word in enumerate(words):
        draw.box(chain[place], word, size=(70, 36), colour=0)
        if place:
            draw.arrow(chain[place - 1], chain[place], gap=21)
    draw.text((186, 194), either("4 steps", "4 步"), small=True, faint=True, left=True)
    for centre, asking, weights in (
        ((352, 186), 1, [0.45, 0.1, 0.4, 0.02, 0.03]),
        ((604, 186), 4, [0.02, 0.03, 0.25, 0.55, 0.15]),
    ):
        _draw_view(draw, words, centre, asking, weights)
    draw.text((352, 346), either("the view of the first “can”", "第一个“花”看到的句子"), small=True, faint=True)
    draw.text((604, 346), either("the view of the second “can”", "第二个“花”看到的句子"), small=True, faint=True)
    draw.text((130, 368), either("from the first word to the last", "从第一个词到最后一个词"), small=True, faint=True)
    draw.text((478, 368), either("1 step between any two", "任意两个词之间只有 1 步"), small=True, faint=True)
    return draw


def _draw_view(draw: Diagram, words: Sequence[str], centre: Place, asking: int, weights: Sequence[float]) -> None:
    """All edges faintly, and those that one word reads as thick as their weights."""
    turns = [math.tau * (place / len(words)) - math.pi / 2 for place in range(len(words))]
    places = [(centre[0] + 80 * math.cos(turn), centre[1] + 100 * math.sin(turn)) for turn in turns]
    for first in range(len(words)):
        for second in range(first):
            draw.weight(places[first], places[second], 0.3, colour="rule")
    for place, weight in enumerate(weights):
        if place != asking:
            draw.weight(places[asking], places[place], weight)
    for place, word in enumerate(words):
        draw.box(places[place], word, size=(56, 34), colour=1 if place == asking else 0)


def draw_multi_head(either: Either) -> Diagram:
    """Three heads, each with its own projections and weights, side by side."""
    draw = Diagram(720, 430, either("Multi-head attention", "多头注意力"))
    words = either("we open the can", "我 打开 了 门").split()
    looks = (
        (either("head 1: the word before", "第 1 头：前一个词"), lambda i, j: 2.5 * (j == max(i - 1, 0))),
        (either("head 2: the next word", "第 2 头：后一个词"), lambda i, j: 2.5 * (j == min(i + 1, 3))),
        (either("head 3: the verb", "第 3 头：动词"), lambda i, j: 2.0 * (j == 1)),
    )
    source, joined, output = (360, 396), (360, 96), (360, 36)
    for head, (name, score) in enumerate(looks):
        x, side = 64 + 232 * head, 70 * (head - 1)
        weights = [_softmax([score(i, j) for j in range(4)]) for i in range(4)]
        draw.matrix((x, 196), weights, rows=words, columns=words, cell=32)
        draw.text((x + 64, 160), name, small=True, faint=True)
        draw.arrow((360 + side, 376), (x + 64, 328), gap=0, start_gap=2, colour=0)
        draw.text((x + 84 - side / 5, 362), f"W{'₁₂₃'[head]}", small=True)
        draw.arrow((x + 64, 150), (360 + side, 115), gap=2, start_gap=0, colour=1)
    draw.box(source, either("the words X: n × d", "词 X：n × d"), size=(180, 36), colour=0)
    draw.box(joined, either("side by side: n × d", "并排拼起来：n × d"), size=(190, 36), colour=1)
    draw.arrow(joined, output, gap=20, colour=3)
    draw.box(output, "Wᴼ", size=(90, 34), colour=3)
    return draw


def draw_norm_places(either: Either) -> Diagram:
    """One sublayer, as published and as it is by default here."""
    draw = Diagram(720, 350, either("Where the norm stands", "归一化在哪里"))
    for x, title, place in (
        (200, either("as published (2017): post", "论文（2017）：post"), "post"),
        (530, either("the default here: pre", "本库默认：pre"), "pre"),
    ):
        _draw_sublayer(draw, x, title, place, either)
    draw.text((200, 312), "norm(x + f(x))")
    draw.text((530, 312), "x + f(norm(x))")
    draw.text((360, 338), either("f: attention or feed-forward network", "f：注意力或前馈网络"), small=True, faint=True)
    return draw


def _draw_sublayer(draw: Diagram, x: float, title: str, place: str, either: Either) -> None:
    """From the bottom up; the residual passes on the left."""
    is_post = place == "post"
    function, plus, norm = ((x, 215), (x, 140), (x, 82)) if is_post else ((x, 145), (x, 82), (x, 215))
    first, second = (function, plus) if is_post else (norm, function)
    draw.text((x, 20), title, strong=True)
    draw.text((x + 16, 284), "x", left=True)
    draw.arrow((x, 292), first, gap=20, start_gap=0)
    draw.arrow(first, second, gap=16 if is_post else 20, start_gap=20)
    draw.arrow(*((plus, norm) if is_post else (function, plus)), gap=20 if is_post else 16, start_gap=20)
    draw.arrow((x, 262), (x - 16, plus[1]), gap=0, start_gap=0, bend=175 if is_post else 235, colour=2)
    draw.box(function, "f", size=(110, 36), colour=0)
    draw.circle(plus, "+", colour=2)
    draw.box(norm, either("norm", "归一化"), size=(110, 36), colour=4)
    draw.arrow(norm if is_post else plus, (x, 38), gap=0, start_gap=19 if is_post else 16)
    draw.text((x - (130 if is_post else 156), 190), either("residual", "残差"), small=True, faint=True)


def draw_transformer(either: Either) -> Diagram:
    """The whole model with its three attentions; each box is a sublayer with a residual and a norm."""
    draw = Diagram(720, 620, either("The Transformer", "Transformer"))
    left, right = 190.0, 530.0
    feed, size = either("feed-forward", "前馈网络"), (200, 44)
    own = either("① self-attention", "① 自注意力")
    causal, cross = either("② causal self-attention", "② 因果自注意力"), either("③ cross-attention", "③ 交叉注意力")
    every, past = either("reads all source words", "读源句的所有词"), either("reads the words so far", "只读已写的词")
    encoded = either("reads the encoded source", "读编码好的源句")
    each = either("each word by itself", "每个词各算各的")
    encoder = [((left, 400), own, every, 1), ((left, 310), feed, each, 0)]
    decoder = [((right, 400), causal, past, 1), ((right, 310), cross, encoded, 1), ((right, 220), feed, each, 0)]
    draw.frame((60, 268), (260, 172), "")
    draw.frame((400, 178), (260, 262), "")
    for x, column, words in ((left, encoder, "x₁ … xₛ"), (right, decoder, "y₀ … yₜ₋₁")):
        draw.arrow((x, 592), (x, 548), gap=19, start_gap=0)
        draw.arrow((x, 548), (x, 488), gap=16)
        draw.arrow((x, 488), (x, 400), gap=23, start_gap=16)
        draw.box((x, 548), either("word vectors · √d", "词向量 · √d"), size=(170, 36), colour=5)
        draw.circle((x, 488), "+", colour=4)
        draw.text((x, 604), words)
        for first, second in pairwise(column):
            draw.arrow(first[0], second[0], gap=24)
        for at, name, note, colour in column:
            draw.box(at, name, size=size, colour=colour, note=note)
    draw.text((360, 488), either("positions", "位置"))
    draw.arrow((360, 488), (left, 488), gap=17, start_gap=40, colour=4)
    draw.arrow((360, 488), (right, 488), gap=17, start_gap=40, colour=4)
    draw.arrow((left, 310), (left, 200), gap=20, start_gap=24)
    draw.box((left, 200), either("encoded source", "编码好的源句"), size=(170, 36), colour=2)
    draw.arrow((278, 204), (426, 304), gap=2, start_gap=0, colour=2)
    draw.text((344, 198), either("keys, values", "键、值"), small=True, faint=True)
    draw.arrow((right, 220), (right, 104), gap=20, start_gap=24)
    draw.box((right, 104), either("E, softmax", "E，softmax"), size=(170, 36), colour=5)
    draw.arrow((right, 104), (right, 52), gap=0, start_gap=20)
    draw.text((right, 36), "y₁ … yₜ")
    draw.text((112, 254), either("encoder × 6", "编码器 × 6"), faint=True)
    draw.text((452, 164), either("decoder × 6", "解码器 × 6"), faint=True)
    draw.text(
        (left, 60), either("every box of an attention or a", "注意力和前馈网络的每个方框"), small=True, faint=True
    )
    draw.text((left, 80), either("feed-forward has a residual and a norm", "都带残差和归一化"), small=True, faint=True)
    return draw


def draw_places_alone(either: Either) -> Diagram:
    """What windows and biases do by themselves: the weights where all contents score alike."""
    draw = Diagram(720, 290, either("Windows and biases by themselves", "只看窗口和偏置"))
    kinds: Sequence[tuple[str, Window | None, Bias | None]] = (
        (either("everywhere", "全部"), None, None),
        (either("causal", "因果"), Causal(), None),
        (either("sliding window", "滑动窗口"), Sliding(1, 1), None),
        (either("ALiBi, causal", "ALiBi，因果"), Causal(), ALiBi(8)),
    )
    places = [str(place + 1) for place in range(5)]
    for number, (name, window, bias) in enumerate(kinds):
        weights = _weights_of_equal_words(window, bias)
        draw.matrix((44 + 174 * number, 84), weights, rows=places, columns=places, cell=28)
        draw.text((44 + 70 + 174 * number, 34), name, strong=True)
    draw.text(
        (360, 256), either("rows ask, columns are read", "每一行是一个查询，每一列是被读的词"), small=True, faint=True
    )
    return draw


def _weights_of_equal_words(window: Window | None, bias: Bias | None) -> list[list[float]]:
    """Of the first of eight heads, to which ALiBi gives the slope 1/2."""
    attention = Attention(query_dim=8, memory_dim=8, score=Dot(), heads=8, window=window, bias=bias)
    words = torch.zeros(1, 5, 8)
    reading = attention(words, attention.remember(words), weights=True)
    rows: list[list[float]] = reading.weights[0, 0].tolist()
    return rows


DIAGRAMS_AFTER: Mapping[str, Callable[[Either], Diagram]] = {
    "luong": draw_luong,
    "windows": draw_windows,
    "query-key-value": draw_query_key_value,
    "complete-graph": draw_complete_graph,
    "multi-head": draw_multi_head,
    "norm-places": draw_norm_places,
    "transformer": draw_transformer,
    "places-alone": draw_places_alone,
}
