"""Each numbered equation of a paper's file is named beside the lines that compute it: "equation 3", or "equations
3 to 5", in the docstring of a function or in a comment. Laws and transcriptions test that the lines compute it."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

import saccade

PACKAGE = Path(saccade.__file__).parent
FILES = [*sorted((PACKAGE / "models").glob("*.py")), PACKAGE / "words" / "mikolov2013.py"]
ELSEWHERE = {"mikolov2013": PACKAGE / "words" / "windows.py"}  # computes some equations of the file
NUMBERED = re.compile(r"^    \((\d+)\)", re.MULTILINE)
NAMED = re.compile(r"[Ee]quations? (\d+(?:(?:, | and | to )\d+)*)")


def equations(source: str) -> set[int]:
    """The numbers in the docstring of a file."""
    return {int(number) for number in NUMBERED.findall(ast.get_docstring(ast.parse(source), clean=False) or "")}


def named_beside_code(source: str) -> set[int]:
    """The numbers in the docstrings of functions and classes, and in comments."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts = [ast.get_docstring(node) or "" for node in nodes]
    texts += [token.string for token in tokens if token.type == tokenize.COMMENT]
    return {number for text in texts for mention in NAMED.findall(text) for number in numbers(mention)}


def numbers(mention: str) -> set[int]:
    """ "3 to 5 and 7" """
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", mention):
        found |= set(range(int(first), int(last or first) + 1))
    return found


@pytest.mark.parametrize(
    "path", [file for file in FILES if equations(file.read_text(encoding="utf-8"))], ids=lambda p: p.stem
)
def test_every_equation_is_named_beside_its_code(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    stated, named = equations(source), named_beside_code(source)
    if path.stem in ELSEWHERE:
        named |= named_beside_code(ELSEWHERE[path.stem].read_text(encoding="utf-8"))
    assert stated == set(range(1, len(stated) + 1))
    assert named == stated, f"not named beside code: {stated - named}; not stated: {named - stated}"


def test_mentions_are_read() -> None:
    assert numbers("3") == {3} and numbers("1, 3 to 5 and 7") == {1, 3, 4, 5, 7}
    source = '"""\n    (1) a = b\n    (2) b = c\n"""\ndef f():\n    """Equation 2"""\n    a = 1  # equation 1\n'
    assert equations(source) == named_beside_code(source) == {1, 2}
