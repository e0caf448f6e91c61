"""`saccade get`: what people and programs see."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import Web, serve
from running import Run

ARCHIVE = "/OPUS-Tatoeba/v2023-04-12/moses/de-en.txt.zip"


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("Tatoeba.de-en.de", "".join(f"Hund {n}\n" for n in range(60)))
        archive.writestr("Tatoeba.de-en.en", "".join(f"dog {n}\n" for n in range(60)))
    with serve() as started:
        started.put(ARCHIVE, buffer.getvalue())
        yield started


@pytest.fixture
def get(saccade: Run, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: saccade("get", *arguments, "--mirror", web.url)


def test_get_writes_pairs_and_says_what_to_type_next(get: Run, tmp_path: Path) -> None:
    done = get("tatoeba", "--pair", "deu-eng")
    assert done.code == 0
    assert done.out.startswith("data/tatoeba-deu-eng: tatoeba:deu-eng\n  train.tsv: 57 pairs\n  dev.tsv: 3 pairs\n")
    assert "\nsource: https://tatoeba.org, by OPUS" in done.out and "\nlicence: CC BY 2.0 FR\n" in done.out
    assert "\ncite: Tatoeba, https://tatoeba.org; Tiedemann (2012)" in done.out
    assert done.out.endswith(
        "\nnext: saccade train data/tatoeba-deu-eng/train.tsv --valid data/tatoeba-deu-eng/dev.tsv "
        "--out runs/tatoeba-deu-eng\n"
    )
    assert "licence: CC BY 2.0 FR" in done.err  # before the download
    lines = (tmp_path / "data/tatoeba-deu-eng/dev.tsv").read_text(encoding="utf-8").splitlines()
    assert all(line.replace("Hund", "dog").split("\t")[0] == line.split("\t")[1] for line in lines)
    assert "complete already: nothing was changed" in get("tatoeba:deu-eng").out


def test_get_prints_json(get: Run) -> None:
    first, again = (json.loads(get("tatoeba", "--out", "here", "--json").out) for _ in range(2))
    assert first["folder"] == "here" and first["is_new"] and not again["is_new"] and again["downloaded"] == 0
    assert first["files"]["train.tsv"]["pairs"] == 57 and first["licence"] == "CC BY 2.0 FR" and first["citation"]
    (original,) = first["originals"]
    assert original["checksum"] == "recorded" and len(original["sha256"]) == 64
    assert first["train"].startswith("saccade train here/train.tsv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tatoebe"], "there is no data set 'tatoebe'; did you mean 'tatoeba'?"),
        (["tatoeba", "--pair", "deu"], "expected two different languages, such as en-de"),
        (["tatoeba:fra-eng"], "404 Not Found: the file is not there"),
        (["tatoeba", "--timeout", "0"], "--timeout must be above 0 and at most 3,600, got 0.0"),
        (["tatoeba", "--max-gb", "1e-9"], "expected at most 1e-09 GB: allow more by --max-gb 1"),
        (["tatoeba", "--out", "used"], "used: not empty (mine.txt)"),
    ],
)
def test_get_explains_a_mistake_in_one_line(get: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used/mine.txt").write_text("mine")
    done = get(*arguments)
    *_, last = done.err.splitlines()
    assert done.code == 2 and done.out == "" and last.startswith("saccade: ") and message in last, done
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} == {"used", "used/mine.txt"}


def test_ctrl_c_ends_get_with_code_1_and_the_next_run_continues(
    get: Run, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: object, received: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("saccade.public_data.getting._Fetching._report", interrupt)
        done = get("tatoeba")
    assert done.code == 1 and "run the same command again to continue\nsaccade: interrupted\n" in done.err
    assert get("tatoeba").code == 0
