"""Draw the diagrams of the story: `python docs/diagrams.py` writes docs/images/story/NAME.en.svg and NAME.zh.svg.

Each diagram is a function of `either`, which chooses the English or the Chinese label. All have one style (drawing.py):
states are rounded boxes, operations are circles, vectors flow along arrows, and weights are the thickness of lines.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from diagrams_after import DIAGRAMS_AFTER
from diagrams_before import DIAGRAMS_BEFORE
from drawing import Diagram

from saccade.files import write_atomically

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images" / "story"
Either = Callable[[str, str], str]


def draw_helfen(either: Either) -> Diagram:
    """Word by word against attention: the verb that comes last."""
    title = either("Word by word, and with attention", "逐词翻译与注意力")
    draw = Diagram(720, 320, title)
    german, english = ["ich", "will", "dem", "Mann", "helfen"], ["I", "want", "to", "help", "the", "man"]
    wrong = ["I", "want", "the", "man", "help"]
    draw.text((180, 24), either("one word at a time", "一次一个词"), strong=True)
    draw.text((540, 24), either("look where it is needed", "需要哪里看哪里"), strong=True)
    for place, (read, written) in enumerate(zip(german, wrong, strict=True)):
        x = 44 + 68 * place
        draw.arrow(
            draw.box((x, 90), read, size=(62, 34), colour=0), draw.box((x, 230), written, size=(62, 34), colour=5)
        )
    sources = [draw.box((408 + 66 * place, 90), word, size=(60, 34), colour=0) for place, word in enumerate(german)]
    targets = [draw.box((392 + 58 * place, 230), word, size=(52, 34), colour=1) for place, word in enumerate(english)]
    for target, source, weight in ((0, 0, 0.9), (1, 1, 0.9), (2, 4, 0.5), (3, 4, 0.9), (4, 2, 0.9), (5, 3, 0.9)):
        draw.weight(targets[target], sources[source], weight)
    draw.text(
        (180, 285),
        either("“help” comes too late, and “to” is missing", "help 来得太晚，to 也丢了"),
        small=True,
        faint=True,
    )
    draw.text(
        (540, 285),
        either("“to help” looks ahead to “helfen”", "写 to help 时去看句末的 helfen"),
        small=True,
        faint=True,
    )
    return draw


def draw_attention(either: Either) -> Diagram:
    """One step of Bahdanau's decoder, from the bottom up."""
    draw = Diagram(720, 430, either("One step of attention", "注意力的一步"))
    words, weights = ["ich", "will", "dem", "Mann", "helfen"], [0.05, 0.1, 0.05, 0.1, 0.7]
    context, state, after = (300, 120), (470, 60), (640, 60)
    places = [(70 + 92 * place, 330) for place in range(len(words))]
    draw.text((330, 30), either("the decoder", "解码器"), faint=True, left=True)
    draw.text((490, 395), either("the words of the source", "源句的词"), faint=True, left=True)
    for place, (word, weight) in enumerate(zip(words, weights, strict=True)):
        draw.text((places[place][0], 395), word)
        draw.arrow((places[place][0], 385), places[place], gap=20, start_gap=0)
        score = (places[place][0], 235)
        draw.weight(score, context, weight, gap=18)
        draw.arrow(places[place], score, gap=20, colour="rule")
        draw.circle(score, f"{weight:.2f}".removeprefix("0"), radius=19, colour=1)
        if place:
            draw.arrow(places[place - 1], (places[place][0], 324), gap=34, colour=0)
            draw.arrow((places[place][0], 336), (places[place - 1][0], 336), gap=34, colour=0)
    for place in range(len(words)):
        draw.box(places[place], f"h{'₁₂₃₄₅'[place]}", size=(58, 38), colour=0)
    draw.box(context, "cᵢ", size=(64, 38), colour=1)
    draw.box(state, "sᵢ₋₁", size=(70, 40), colour=2)
    draw.box(after, "sᵢ", size=(70, 40), colour=2)
    draw.arrow(state, after, gap=38, colour=2)
    draw.arrow(context, (604, 76), gap=12, start_gap=36, bend=-26, colour=1)
    draw.arrow(state, (places[-1][0] + 20, 222), gap=8, start_gap=24, bend=-30, colour=2, dashed=True)
    draw.text((560, 160), either("compares itself with", "和每个标注比较，"), small=True, faint=True, left=True)
    draw.text((560, 178), either("each annotation", "打出分数"), small=True, faint=True, left=True)
    draw.text((560, 235), either("weights, sum 1", "权重，和为 1"), small=True, faint=True, left=True)
    draw.text((560, 330), either("annotations", "标注"), small=True, faint=True, left=True)
    draw.text((170, 96), either("context: weighted mean", "上下文：加权平均"), small=True, faint=True)
    draw.arrow(after, (640, 10), gap=0, start_gap=22, colour=2)
    draw.text((676, 18), "yᵢ")
    return draw


DIAGRAMS: Mapping[str, Callable[[Either], Diagram]] = {
    **DIAGRAMS_BEFORE,
    "helfen": draw_helfen,
    "attention": draw_attention,
    **DIAGRAMS_AFTER,
}


def build_diagrams() -> Mapping[str, str]:
    """The content of each file, by its name."""
    languages: Mapping[str, Either] = {"en": lambda en, zh: en, "zh": lambda en, zh: zh}
    return {
        f"{name}.{language}.svg": draw(either).svg()
        for name, draw in DIAGRAMS.items()
        for language, either in languages.items()
    }


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, content in build_diagrams().items():
        write_atomically(IMAGES / name, content)


if __name__ == "__main__":
    main()
