"""The documentation site: every link leads somewhere, and no page loads anything from the network."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))
import website  # noqa: E402  (docs/ is not a package: its scripts are imported by path)

ELSEWHERE = re.compile(r"(?:[a-z]+:)?//|[a-z]+:", re.IGNORECASE)
LOADING = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch"}


class Page(HTMLParser):
    """The anchors of a page, what it links to and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.styles: list[str] = []
        self.has_diagrams = False  # for which the theme would load a program from the network
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.has_diagrams |= "mermaid" in given.get("class", "").split()
        self.styles.append(given.get("style", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and LOADING & set(given.get("rel", "").split()):
            self.loaded.append(given["href"])
        elif tag != "a":
            self.loaded += [given[name] for name in ("src", "data", "poster") if name in given]
            self.loaded += [each.split()[0] for each in given.get("srcset", "").split(",") if each.strip()]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def place_of(link: str, page: Path, site: Path) -> Path:
    """The file that a link leads to. 404.html is shown at any address, so its links begin at the root."""
    path = unquote(link.partition("#")[0].partition("?")[0])
    if path.startswith("/"):
        return site / path[1:]
    return (page.parent / path).resolve() if path else page


@pytest.mark.slow
def test_links_lead_to_pages_and_headings(site: Path, pages: dict[Path, Page]) -> None:
    wrong = []
    for page in pages.values():
        for link in page.links:
            if ELSEWHERE.match(link):
                continue
            target, anchor = place_of(link, page.path, site), unquote(link.partition("#")[2])
            if target.is_dir():
                target /= "index.html"
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].anchors):
                wrong.append(f"{page.path.relative_to(site)}: {link}")
    assert not wrong, "\n".join(wrong)
    assert sum(len(page.links) for page in pages.values()) > 1000


@pytest.mark.slow
def test_nothing_comes_from_the_network(site: Path, pages: dict[Path, Page]) -> None:
    for page in pages.values():
        name = page.path.relative_to(site)
        assert not page.has_diagrams, name
        for resource in page.loaded:
            assert not ELSEWHERE.match(resource) or resource.startswith("data:"), f"{name} loads {resource}"
            assert place_of(resource, page.path, site).is_file(), f"{name} loads {resource}, which is not there"
        assert not any("url(" in style for style in page.styles), name
    for sheet in site.rglob("*.css"):
        for resource in loaded_by_style(sheet.read_text(encoding="utf-8")):
            assert not ELSEWHERE.match(resource) or resource.startswith("data:"), f"{sheet.name} loads {resource}"


def loaded_by_style(sheet: str) -> Iterator[str]:
    for quoted, plain in re.findall(r"""(?:url\(|@import)\s*(?:["']([^"']*)["']|([^)\s;]*))""", sheet):
        yield quoted or plain


@pytest.mark.slow
def test_both_languages_are_published_and_found(site: Path, pages: dict[Path, Page]) -> None:
    assert not list(site.rglob("*.py"))
    for page in (ROOT / "docs").rglob("*.md"):
        address = page.relative_to(ROOT / "docs").with_suffix(".html")
        assert site / address in pages, f"{address} is missing"
    text = (site / "index.zh.html").read_text(encoding="utf-8")
    assert '<html lang="zh"' in text and 'hreflang="en"' in text
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert {"en", "zh"} <= set(index["config"]["lang"])
    words = {word for entry in index["docs"] for word in entry["text"].split("\u200b")}
    assert {"注意力", "词", "向量"} <= words, "Chinese texts are not divided into words"
    assert not any(entry["location"].startswith("saccade/") for entry in index["docs"]), "code hides the texts"
    assert "__index" in (site / "search" / "search_index.js").read_text(encoding="utf-8")  # read without a server


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("README.md", "index.md"),
        ("README.zh-CN.md", "index.zh.md"),
        ("docs/models/cho2014.md", "models/cho2014.md"),
        ("docs/images/saccade.png", "images/saccade.png"),
        ("saccade/models/cho2014.py", "saccade/models/cho2014.py.md"),
        ("notebooks", "notebooks/index.md"),
        ("notebooks/train_your_own.ipynb", "notebooks/train_your_own.md"),
        ("LICENSE", "LICENSE.md"),
    ],
)
def test_addresses_on_the_site(path: str, address: str) -> None:
    assert website.address_of(ROOT / path) == address
    if address.endswith(".md") and not website.is_code(address) and (ROOT / path).is_file():
        assert website.source_of(address) == ROOT / path


def test_links_are_rewritten_outside_code() -> None:
    markdown = "[model](../saccade/models/cho2014.py) [home](../README.md#try-it) [web](https://a.b/c.md) [no](gone.md)"
    code = "\n```text\n[as it is](../README.md)\n```\n"
    expected = "[model](saccade/models/cho2014.py.md) [home](index.md#try-it) [web](https://a.b/c.md) [no](gone.md)"
    assert website.prepare(markdown + code, ROOT / "docs" / "words.md") == expected + code
    assert website.prepare("[hand](docs/by-hand.md)", ROOT / "README.md") == "[hand](by-hand.md)"
    assert website.prepare("[up](../../by-hand.md)", ROOT / "docs/story/en/06-attention.md") == "[up](../../by-hand.md)"


def test_a_notebook_becomes_a_page_with_its_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(website, "ROOT", tmp_path)
    (tmp_path / "notebooks").mkdir()
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "source": ["print('```')"],
            "outputs": [
                {"output_type": "stream", "text": ["```\n"]},
                {"output_type": "display_data", "data": {"image/png": "iVBORw==", "text/plain": "<Figure>"}},
            ],
        },
    ]
    path = tmp_path / "notebooks" / "one.ipynb"
    path.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    picture, page = website.show_notebook(path)
    assert picture == ("notebooks/one-3.png", b"\x89PNG")
    assert page[0] == "notebooks/one.md"
    assert page[1] == (
        "# Title\ntext\n\n````python\nprint('```')\n````\n\n````text\n```\n````\n\n"
        "![The output of the code above](one-3.png)\n"
    )
