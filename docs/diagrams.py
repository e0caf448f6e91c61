"""Draw the diagrams of the story: `python docs/diagrams.py` writes docs/images/story/NAME.en.svg and NAME.zh.svg.

Each diagram is a function of `either`, which chooses the English or the Chinese label. All have one style (drawing.py):
states are rounded boxes, operations are circles, vectors flow along arrows, and weights are the thickness of lines.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

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


DIAGRAMS: Mapping[str, Callable[[Either], Diagram]] = {"helfen": draw_helfen}


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
