"""The diagrams of the steps before attention: word vectors, windows, recurrent networks, gates, encoder–decoders."""

from collections.abc import Callable, Mapping, Sequence

from drawing import Diagram, Place

from saccade.study.study import Either


def draw_skip_gram(either: Either) -> Diagram:
    """One update of skip-gram: which words are compared, and how the vectors of the page's example move."""
    draw = Diagram(760, 340, either("One update of skip-gram", "skip-gram 的一次更新"))
    sentence = either("the cat drinks milk every day", "我家 猫 最爱 鱼 和 虾").split()
    places = [(46 + 68 * place, 150) for place in range(len(sentence))]
    draw.text((216, 24), either("neighbours and random words", "邻词与随机词"), strong=True)
    for place, bend in ((0, -24), (2, 24), (3, 40)):
        draw.arrow((places[1][0], 130), (places[place][0], 130), gap=4, bend=bend, colour=2)
    for place, word in enumerate(sentence):
        draw.box(places[place], word, size=(60, 34), colour=1 if place == 1 else 2 if place < 4 else "rule")
    draw.text((150, 76), either("neighbours: score up", "邻词：分数升高"), small=True, faint=True)
    draw.text((350, 190), either("outside the window", "窗口之外"), small=True, faint=True)
    for x, word in ((150, either("parliament", "议会")), (270, either("seven", "七"))):
        draw.arrow((places[1][0], 168), (x, 246), gap=8, start_gap=0, colour=3, dashed=True)
        draw.box((x, 266), word, size=(96, 34), colour=3)
    draw.text((210, 306), either("random words: score down", "随机词：分数降低"), small=True, faint=True)

    draw.text((590, 24), either("how the vectors move", "向量怎样移动"), strong=True)
    origin, unit = (490, 230), 190
    cat, milk, parliament = (either("cat", "猫"), either("milk", "鱼"), either("parliament", "议会"))
    moves = (
        (f"u {cat}", 1, (1.0, 0.0), (0.608, 0.459), (8, 0)),
        (f"v {milk}", 2, (0.4, 0.8), (0.801, 0.800), (8, -6)),
        (f"v {parliament}", 3, (0.8, -0.2), (0.110, -0.2), (-22, 20)),
    )
    for name, colour, before, after, (right, down) in moves:
        old, new = (_in_plane(origin, unit, vector) for vector in (before, after))
        draw.arrow(origin, old, gap=0, colour=colour, dashed=True)
        draw.arrow(origin, new, gap=0, colour=colour)
        draw.text((new[0] + right, new[1] + down), name, small=True, left=True)
    draw.text((600, 310), either("dashed: before, solid: after", "虚线：更新前；实线：更新后"), small=True, faint=True)
    return draw


def _in_plane(origin: Place, unit: float, vector: Place) -> Place:
    return origin[0] + unit * vector[0], origin[1] - unit * vector[1]


def draw_one_point(either: Either) -> Diagram:
    """A word with two meanings: one point between its neighbours, or one point per sentence."""
    draw = Diagram(720, 290, either("A word with two meanings", "一词多义"))
    word = either("bank", "苹果")
    first = either("river shore boat fish", "香蕉 梨 果园 甜").split()
    second = either("money loan account interest", "手机 屏幕 芯片 电池").split()
    headings = (
        either("one vector per word", "一个词一个向量"),
        either("one vector per word and sentence", "每句话里各有一个向量"),
    )
    spread = ((-42, -34), (40, -38), (-44, 34), (44, 34))
    for left, heading in zip((0, 360), headings, strict=True):
        draw.text((left + 180, 24), heading, strong=True)
        for (x, y), words in (((left + 80, 110), first), ((left + 280, 200), second)):
            for (right, down), each in zip(spread, words, strict=True):
                draw.text((x + right, y + down), each, small=True, faint=True)
    draw.box((180, 155), word, colour=1)
    draw.box((440, 110), word, colour=0, size=(64, 30))
    draw.text((452, 168), either("“the bank of the river”", "“削一个苹果”"), small=True)
    draw.box((640, 200), word, colour=2, size=(64, 30))
    draw.text((628, 142), either("“the bank lent money”", "“苹果发布新手机”"), small=True)
    draw.text((180, 272), "word2vec", small=True, faint=True)
    draw.text((540, 272), either("a network that reads the sentence", "读过整句话的网络"), small=True, faint=True)
    return draw


def draw_window(either: Either) -> Diagram:
    """Bengio's network: a window of words, their vectors side by side, a hidden layer, a softmax."""
    draw = Diagram(720, 440, either("A window of words", "词的窗口"))
    words = either("yesterday evening the grey cat ?", "昨天 晚上 我家 的 猫 ？").split()
    places = [70 + 92 * place for place in range(len(words))]
    for place, word in enumerate(words):
        inside = 2 <= place < 5
        draw.box((places[place], 400), word, size=(82, 34), colour=0 if inside else 1 if place == 5 else "rule")
        if inside:
            draw.arrow((places[place], 400), (places[place], 320), gap=19, colour=0)
            draw.text((places[place] + 12, 361), "E", small=True, left=True)
            draw.box((places[place], 320), either("vector", "向量"), size=(88, 36), colour=0)
    draw.text((70, 360), either("forgotten", "看不见"), small=True, faint=True)
    draw.text((162, 360), either("forgotten", "看不见"), small=True, faint=True)
    middle = places[3]
    draw.text((496, 320), either("x: side by side", "x：首尾相接"), small=True, faint=True, left=True)
    draw.box((middle, 210), "tanh(d + H x)", size=(190, 38), colour=2)
    draw.text((middle + 108, 210), either("hidden layer", "隐藏层"), small=True, faint=True, left=True)
    for place in (2, 3, 4):
        draw.arrow((places[place], 320), (middle + 40 * (place - 3), 210), gap=21, colour=2)
    draw.box((middle, 110), either("softmax over all words", "对所有词做 softmax"), size=(210, 38), colour=1)
    draw.arrow((middle, 210), (middle, 110), gap=21, colour=2, label="U")
    draw.arrow((places[2] - 30, 302), (middle - 90, 130), gap=2, start_gap=0, bend=58, colour=0, dashed=True)
    draw.text((places[2] - 100, 216), either("W, direct", "W，直接相连"), small=True, faint=True)
    guesses = either("sleeps .62,drinks .21,votes .01", "睡了 .62,饿了 .21,表决 .01").split(",")
    for place, guess in enumerate(guesses):
        draw.text((middle + 120 * (place - 1), 40), guess, small=True)
        draw.arrow((middle + 70 * (place - 1), 90), (middle + 120 * (place - 1), 52), gap=2, start_gap=0, colour=1)
    return draw


def draw_recurrence(either: Either) -> Diagram:
    """Elman's network with its loop, and unrolled over four words."""
    draw = Diagram(760, 320, either("A recurrent network", "循环网络"))
    words = either("the cat drinks milk", "猫 最爱 吃 鱼").split()
    following = [*words[1:], either("every", "和")]
    draw.text((90, 24), either("with its loop", "带着回路"), strong=True)
    draw.text((480, 24), either("unrolled in time", "按时间展开"), strong=True)
    draw.box((90, 160), "h", size=(64, 40), colour=2)
    draw.arrow((90, 270), (90, 160), gap=24, start_gap=12, label="W", colour=0)
    draw.arrow((90, 160), (90, 60), gap=12, start_gap=24, label="V", colour=1)
    draw.text((90, 284), "x")
    draw.text((90, 54), "y")
    draw.arrow((124, 148), (124, 172), gap=2, start_gap=0, bend=80, colour=2)
    draw.text((178, 160), "U", small=True)
    draw.text((90, 306), either("copied back at each step", "每一步都抄回来"), small=True, faint=True)
    places = [320 + 112 * place for place in range(len(words))]
    draw.text((248, 160), "h₀ = 0", small=True)
    draw.arrow((270, 160), (places[0], 160), gap=36, start_gap=0, colour=2)
    for place, x in enumerate(places):
        draw.box((x, 160), f"h{'₁₂₃₄'[place]}", size=(64, 40), colour=2)
        draw.arrow((x, 270), (x, 160), gap=24, start_gap=12, colour=0)
        draw.arrow((x, 160), (x, 60), gap=14, start_gap=24, colour=1)
        draw.text((x, 284), words[place])
        draw.text((x, 48), following[place] + "?", faint=True)
        if place:
            draw.arrow((places[place - 1], 160), (x, 160), gap=36, colour=2, label="U")
    draw.text(
        (480, 306), either("the same W, U and V at every step", "每一步用的都是同一套 W、U、V"), small=True, faint=True
    )
    return draw


def draw_elman_jordan(either: Either) -> Diagram:
    """What is fed back: the hidden layer, or the output."""
    draw = Diagram(720, 330, either("Elman and Jordan", "Elman 与 Jordan"))
    hidden, output = either("hidden", "隐藏层"), either("output", "输出")
    reading, context = either("input", "输入"), either("context", "上下文层")
    for left, name, fed_back in ((0, "Elman 1990", hidden), (360, "Jordan 1986", output)):
        top, middle, bottom = (left + 150, 80), (left + 150, 175), (left + 90, 280)
        beside = (left + 230, 280)
        draw.text((left + 180, 24), name, strong=True)
        draw.arrow(bottom, middle, gap=26, colour=0)
        draw.arrow(beside, middle, gap=26, colour=2)
        draw.arrow(middle, top, gap=24, colour=1)
        draw.box(top, output, size=(100, 40), colour=1)
        draw.box(middle, hidden, size=(100, 40), colour=2)
        draw.box(bottom, reading, size=(100, 40), colour=0)
        draw.box(beside, context, size=(100, 40), colour=2 if fed_back == hidden else 1)
        start = middle if fed_back == hidden else top
        colour = 2 if fed_back == hidden else 1
        draw.arrow(
            (start[0] + 54, start[1]), (beside[0] + 30, 256), gap=2, start_gap=0, bend=30, colour=colour, dashed=True
        )
        draw.text((left + 262, 150), either("copied", "复制"), small=True, faint=True, left=True)
        draw.text((left + 262, 168), either("one step later", "迟一步"), small=True, faint=True, left=True)
    return draw


def draw_vanishing(either: Either) -> Diagram:
    """What is left of a gradient that goes back through eight steps, for two factors."""
    draw = Diagram(760, 300, either("The gradient on its way back", "梯度往回走"))
    rows = (
        (either("tanh: × 0.6 per step", "tanh：每步 × 0.6"), 0.6, "h", 2, 90),
        (either("cell: × 0.95 per step", "记忆单元：每步 × 0.95"), 0.95, "c", 1, 220),
    )
    steps = 8
    places = [60 + 91 * step for step in range(steps)]
    for title, factor, letter, colour, y in rows:
        draw.text((380, y - 52), title, strong=True)
        for step, x in enumerate(places):
            left = factor ** (steps - 1 - step)
            if step:
                draw.weight((places[step - 1], y), (x, y), factor ** (steps - step), colour=colour, gap=27)
            draw.box((x, y), f"{letter}{'₁₂₃₄₅₆₇₈'[step]}", size=(50, 34), colour=colour)
            draw.text((x, y + 32), f"{left:.2f}".removeprefix("0") if step < steps - 1 else "1", small=True)
    draw.text(
        (380, 286),
        either(
            "the error is at the last step; below each state, the share that reaches it",
            "误差在最后一步；每个状态下面是传到那里还剩下多少",
        ),
        small=True,
        faint=True,
    )
    return draw


def draw_lstm(either: Either) -> Diagram:
    """The LSTM: the cell above, which is only multiplied and added to, and the gates below."""
    draw = Diagram(760, 420, either("An LSTM", "LSTM"))
    line, gates, bus = 90, 260, 340
    forget, enter, candidate, leave = 210, 320, 420, 540
    write, end = (370, 175), 640
    draw.text((44, line), "cₜ₋₁")
    draw.text((718, line), "cₜ")
    draw.arrow((66, line), (forget, line), gap=17, start_gap=0, colour=1)
    draw.arrow((forget, line), (write[0], line), gap=17, colour=1)
    draw.arrow((write[0], line), (700, line), gap=0, start_gap=17, colour=1)
    draw.text(
        (290, line - 34), either("memory: kept, and added to", "记忆：留下一部分，再加上一部分"), small=True, faint=True
    )
    draw.arrow((66, bus), (leave, bus), gap=0, start_gap=0)
    draw.text((40, bus), "hₜ₋₁")
    draw.text((110, 400), "xₜ")
    draw.arrow((110, 400), (110, bus), gap=2, start_gap=14)
    names = (
        (forget, either("forget", "遗忘门"), "σ", 0),
        (enter, either("input", "输入门"), "σ", 0),
        (candidate, either("candidate", "候选值"), "tanh", 2),
        (leave, either("output", "输出门"), "σ", 0),
    )
    for x, name, function, colour in names:
        draw.arrow((x, bus), (x, gates), gap=24, start_gap=0)
        draw.box((x, gates), function, note=name, size=(84, 46), colour=colour)
    draw.arrow((forget, gates), (forget, line), gap=18, start_gap=24, colour=0, label="f")
    draw.arrow((enter, gates), write, gap=17, start_gap=26, colour=0)
    draw.arrow((candidate, gates), write, gap=17, start_gap=26, colour=2)
    draw.text((334, 206), "i", small=True)
    draw.text((408, 206), "g", small=True)
    draw.arrow(write, (write[0], line), gap=18, start_gap=17, colour=2)
    for place, sign in (((forget, line), "×"), ((write[0], line), "+"), (write, "×"), ((end, 225), "×")):
        draw.circle(place, sign, colour=1 if place[1] == line else "ink")
    draw.arrow((end, line), (end, 155), gap=20, start_gap=0, colour=1)
    draw.circle((end, 155), "tanh", radius=20, colour=1)
    draw.arrow((end, 155), (end, 225), gap=17, start_gap=22, colour=1)
    draw.arrow((leave + 42, gates - 10), (end, 225), gap=17, start_gap=0, colour=0)
    draw.text((596, 228), "o", small=True)
    draw.arrow((end, 225), (700, 225), gap=0, start_gap=17)
    draw.text((718, 225), "hₜ")
    return draw


def draw_encoder_decoder(either: Either) -> Diagram:
    """A sentence through one vector."""
    draw = Diagram(790, 300, either("Encoder, one vector, decoder", "编码器、一个向量、解码器"))
    source, target = ["ich", "will", "dem", "Mann", "helfen"], ["I", "want", "to", "help", "the", "man"]
    reads = [40 + 60 * place for place in range(len(source))]
    writes = [460 + 60 * place for place in range(len(target))]
    vector, y = (370, 160), 160
    draw.text((160, 24), either("encoder", "编码器"), strong=True)
    draw.text((610, 24), either("decoder", "解码器"), strong=True)
    for place, x in enumerate(reads):
        draw.arrow((x, 240), (x, y), gap=20, start_gap=12, colour=0)
        draw.text((x, 254), source[place], small=True)
        if place:
            draw.arrow((reads[place - 1], y), (x, y), gap=23, colour=0)
    for place, x in enumerate(writes):
        if place:
            draw.arrow((writes[place - 1], y), (x, y), gap=23, colour=2)
            draw.arrow(
                (vector[0] + 18, 190), (x - 6, 182), gap=0, start_gap=0, bend=-16 - 9 * place, colour=1, dashed=True
            )
        draw.arrow((x, y), (x, 84), gap=12, start_gap=20, colour=2)
        draw.text((x, 70), target[place], small=True)
    draw.arrow((reads[-1], y), vector, gap=36, start_gap=23, colour=0)
    draw.arrow(vector, (writes[0], y), gap=23, start_gap=36, colour=1)
    for place, x in enumerate(reads):
        draw.box((x, y), f"h{'₁₂₃₄₅'[place]}", size=(42, 34), colour=0)
    for place, x in enumerate(writes):
        draw.box((x, y), f"s{'₁₂₃₄₅₆'[place]}", size=(42, 34), colour=2)
    draw.box(vector, "c", size=(66, 56), colour=1)
    draw.text((vector[0], 116), either("all of the sentence", "整句话都在这里"), small=True, faint=True)
    draw.text(
        (600, 284),
        either("dashed: Cho 2014 reads c at every step", "虚线：Cho 2014 每一步都读 c"),
        small=True,
        faint=True,
    )
    return draw


def draw_reversal(either: Either) -> Diagram:
    """How many steps lie between a source word and its translation, forwards and backwards."""
    draw = Diagram(760, 290, either("Reading the source backwards", "倒着读源句"))
    rows = (
        (either("forwards", "顺着读"), ["a", "b", "c"], 100),
        (either("backwards", "倒着读"), ["c", "b", "a"], 236),
    )
    for title, source, y in rows:
        draw.text((70, y), title, strong=True)
        tokens = [*source, "A", "B", "C"]
        places = [170 + 84 * place for place in range(len(tokens))]
        distances = []
        for place, letter in enumerate(source):
            other = tokens.index(letter.upper())
            distances.append(other - place)
            draw.arrow((places[place], y - 18), (places[other], y - 18), gap=3, bend=12 + 9 * (other - place), colour=1)
        for place, token in enumerate(tokens):
            draw.box((places[place], y), token, size=(56, 34), colour=0 if place < len(source) else 2)
        shown = either("steps: ", "步数：") + _join(sorted(distances))
        draw.text((692, y), shown, small=True, faint=True)
    return draw


def draw_exposure(either: Either) -> Diagram:
    """One wrong word, while training and while translating."""
    draw = Diagram(720, 330, either("Training and translating", "训练与翻译"))
    words = either("I want to help him", "我 想 帮助 他 。").split()
    wrong = words[1]  # where the third word should be
    rows = (
        (either("training: reads the reference", "训练时：读参考译文"), words, [*words[:2], wrong, *words[3:]], 100),
        (
            either("translating: reads what it wrote", "翻译时：读自己写的词"),
            [*words[:2], wrong, wrong, wrong],
            [*words[:2], wrong, wrong, wrong],
            260,
        ),
    )
    for title, reads, writes, y in rows:
        draw.text((130, y), title, small=True)
        for place, (word, good) in enumerate(zip(writes, words, strict=True)):
            x = 290 + 92 * place
            if place:
                draw.arrow((x - 92, y), (x, y), gap=24, colour=2)
            draw.arrow((x, y + 48), (x, y), gap=18, start_gap=10, colour=0)
            draw.arrow((x, y), (x, y - 48), gap=12, start_gap=18, colour=2 if word == good else 3)
            draw.box((x, y), f"s{'₁₂₃₄₅'[place]}", size=(44, 32), colour=2)
            draw.text((x, y + 58), ["<s>", *reads][place], small=True)
            draw.text((x, y - 58), word if word == good else f"{word} ✗", small=True, strong=word != good)
    return draw


def _join(numbers: Sequence[int]) -> str:
    return ", ".join(str(number) for number in numbers)


DIAGRAMS_BEFORE: Mapping[str, Callable[[Either], Diagram]] = {
    "skip-gram": draw_skip_gram,
    "one-point": draw_one_point,
    "window": draw_window,
    "recurrence": draw_recurrence,
    "elman-jordan": draw_elman_jordan,
    "vanishing": draw_vanishing,
    "lstm": draw_lstm,
    "encoder-decoder": draw_encoder_decoder,
    "reversal": draw_reversal,
    "exposure": draw_exposure,
}
