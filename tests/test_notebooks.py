"""The notebooks run and draw their figures; their outputs are kept; the Chinese ones have the same code."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
CHINESE = sorted((FOLDER / "zh").glob("*.ipynb"))
LARGEST_PICTURE = 60_000  # bytes


def cells_of(path: Path, kind: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=1200, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)


def test_each_chapter_has_a_notebook() -> None:
    chapters = [path.stem for path in NOTEBOOKS if path.stem[0].isdigit()]
    assert [name[:2] for name in chapters] == [f"{number:02}" for number in range(1, 11)]
    assert [path.stem for path in CHINESE] == chapters
    assert {path.stem for path in NOTEBOOKS} - set(chapters) == {"compare_mechanisms", "train_your_own"}
    for path in [*NOTEBOOKS, *CHINESE]:
        chapter = (
            FOLDER.parent / "docs/story" / ("zh" if path in CHINESE else "en") / f"{path.stem.replace('_', '-')}.md"
        )
        if chapter.exists():
            (first, *_) = cells_of(path, "markdown")
            link = f"{'../' * (2 if path in CHINESE else 1)}{chapter.relative_to(FOLDER.parent)}"
            assert link in "".join(first["source"]), f"{path.name} does not link to its chapter"


@pytest.mark.parametrize("path", [*NOTEBOOKS, *CHINESE], ids=lambda path: str(path.relative_to(FOLDER)))
def test_outputs_are_kept(path: Path) -> None:
    pictures = []
    for cell in cells_of(path, "code"):
        assert cell["execution_count"], f"{path.name} was not run from top to bottom"
        for output in cell["outputs"]:
            assert output["output_type"] in ("stream", "display_data", "execute_result"), f"{path.name} failed"
            assert output.get("name") != "stderr" and "/tmp" not in "".join(output.get("text", ""))
            if "image/png" in output.get("data", {}):
                pictures.append(base64.b64decode("".join(output["data"]["image/png"])))
    assert pictures and max(map(len, pictures)) < LARGEST_PICTURE


@pytest.mark.parametrize("path", CHINESE, ids=lambda path: path.stem)
def test_a_chinese_notebook_is_the_english_one_with_chinese_texts(path: Path) -> None:
    """So its outputs are those of the English one, which is executed."""
    assert cells_of(path, "code") == cells_of(FOLDER / path.name, "code")
    for cell in cells_of(path, "markdown"):
        assert any("一" <= letter <= "鿿" for letter in "".join(cell["source"]))
