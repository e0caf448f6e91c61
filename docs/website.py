"""The documentation site: `make docs` runs MkDocs, which calls the functions on_… of this file.

A page keeps the links that work in the repository. What lies outside docs/ and is linked to, directly or by way of
other pages, is published as well: Markdown as pages, notebooks with their outputs, code as pages that show it. So every
link works without a network.
"""

import json
import logging
import posixpath
import re
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
HOME = {"README.md": "index.md", "README.zh-CN.md": "index.zh.md"}
COPIED = {".png", ".svg", ".json"}  # published as they are
LEXERS = {".py": "python", ".toml": "toml", ".cff": "yaml"}
LINK = re.compile(r"(?<=\]\()[^)\s]+(?=\))")
FENCED = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
PICTURES = {"image/png": "png", "image/svg+xml": "svg"}
TOPICS = {
    "Train": ["train-your-own", "data", "getting-data", "pretraining", "recipes", "training", "scaling", "api"],
    "Translate": ["translating", "constraining", "decoding", "scoring", "aligning"],
    "Measure": ["results", "evaluating", "comparing", "benchmarks", "speed", "ambiguity"],
    "Explain": ["attention", "words", "language-models", "labelling", "tasks", "phrasebook", "glossary"],
}


def on_config(config: Any) -> Any:
    import jieba

    jieba.setLogLevel(logging.WARNING)
    jieba.dt.tmp_dir = sys.prefix  # its cache is trusted, so it must not lie where every user may write
    config["nav"] = navigation()
    config["mdx_configs"]["toc"]["slugify"] = slug
    return config


def navigation() -> list[dict[str, Any]]:
    """The pages in the order of reading. MkDocs takes their titles from their headings."""

    def pages(*patterns: str) -> list[str]:
        return [address_of(path) for pattern in patterns for path in sorted(ROOT.glob(pattern))]

    def part(language: str) -> list[dict[str, Any]]:
        names = {"en": ("The story", "By hand", "Studies", "Notebooks"), "zh": ("故事", "手算", "小实验", "笔记本")}
        hand = [f"docs/by-hand{page}{'.zh' * (language == 'zh')}.md" for page in ("-networks", "", "-self-attention")]
        notebooks = "notebooks/*.ipynb" if language == "en" else "notebooks/zh/*.ipynb"
        contents = (
            pages(f"docs/story/{language}/index.md", f"docs/story/{language}/[0-9]*.md"),
            pages(*hand),
            pages(f"docs/studies/{language}/index.md", f"docs/studies/{language}/*.md"),
            pages(notebooks),
        )
        return [
            {name: list(dict.fromkeys(paths))} for name, paths in zip(names[language], contents, strict=True) if paths
        ]

    topics = [{name: pages(*(f"docs/{topic}.md" for topic in listed))} for name, listed in TOPICS.items()]
    models = {"Models": ["models.md", *pages("docs/models/*.md")]}
    project = {"Project": pages("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "decisions/*.md")}
    return [
        {"Saccade": "index.md"},
        *part("en"),
        {"Guide": topics},
        models,
        project,
        {"中文": ["index.zh.md", *part("zh")]},
    ]


def on_files(files: Any, config: Any) -> Any:
    """Add what the pages link to outside docs/."""
    from mkdocs.structure.files import File

    for address, content in published_outside().items():
        files.append(File.generated(config, address, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    if is_code(page.file.src_uri):
        page.meta["search"] = {"exclude": True}
        return markdown
    return prepare(markdown, source_of(page.file.src_uri))


def on_post_page(output: str, page: Any, config: Any) -> str:
    is_chinese = "/zh/" in f"/{page.file.src_uri}" or page.file.src_uri.endswith(".zh.md")
    return output.replace('<html lang="en"', '<html lang="zh"', 1) if is_chinese else output


def slug(text: str, separator: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)


def address_of(path: Path) -> str:
    """Where a file or folder of the repository is on the site, before MkDocs turns .md into .html."""
    place = path.relative_to(ROOT).as_posix()
    if path.is_dir():
        return f"{place}/index.md"
    if path.suffix == ".ipynb":
        return f"{place.removesuffix('.ipynb')}.md"
    address = HOME.get(place, place.removeprefix("docs/"))
    return address if path.suffix in {".md", *COPIED} else f"{place}.md"


def source_of(address: str) -> Path:
    """The file whose links a page has: the reverse of `address_of`."""
    home = {page: name for name, page in HOME.items()}.get(address)
    if home is not None:
        return ROOT / home
    candidates = (DOCS / address, ROOT / address, ROOT / f"{address.removesuffix('.md')}.ipynb")
    return next((path for path in candidates if path.exists()), ROOT / address)


def is_code(address: str) -> bool:
    """Whether a page shows a file that is not Markdown."""
    return not source_of(address).exists() and (ROOT / address.removesuffix(".md")).is_file()


def published_outside() -> Mapping[str, str | bytes]:
    """The content of each page and picture that does not lie in docs/, by its address."""
    published: dict[str, str | bytes] = {}
    waiting = [ROOT / name for name in HOME] + sorted(DOCS.rglob("*.md"))
    for directory in ("notebooks", "decisions"):
        waiting += [ROOT / directory, *sorted((ROOT / directory).rglob("*.ipynb"))]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        for address, content in contents_of(path):
            if not path.is_relative_to(DOCS) or path.suffix == ".py":
                published[address] = content
            if not isinstance(content, bytes) and not is_code(address):
                targets = {target for link in links(content) if (target := resolve(link, path)) is not None}
                waiting += sorted(targets - seen)
                seen |= targets
    return published


def contents_of(path: Path) -> Iterator[tuple[str, str | bytes]]:
    """The page of a file or folder, with the pictures of a notebook."""
    address = address_of(path)
    if path.is_dir():
        yield address, list_folder(path)
    elif path.suffix == ".ipynb":
        yield from show_notebook(path)
    elif path.suffix == ".md":
        yield address, path.read_text(encoding="utf-8")
    elif path.suffix in COPIED:
        yield address, path.read_bytes()
    else:
        title = path.relative_to(ROOT).as_posix()
        yield address, f"# {title}\n\n{fence(path.read_text(encoding='utf-8'), LEXERS.get(path.suffix, 'text'))}\n"


def list_folder(folder: Path) -> str:
    """A list of the pages in a folder, with their titles."""
    lines = [f"# {folder.name.capitalize()}", ""]
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".md", ".ipynb") and ".ipynb_checkpoints" not in path.parts:
            text = next(text for address, text in contents_of(path) if isinstance(text, str))
            lines.append(f"- [{title_of(text)}]({path.relative_to(folder).as_posix()})")
    return "\n".join(lines) + "\n"


def show_notebook(path: Path) -> Iterator[tuple[str, str | bytes]]:
    """A notebook as a page: its texts, its code and what the code printed and drew."""
    address, parts = address_of(path), []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(fence(source, "python"))
        for output in cell["outputs"]:
            data = output.get("data", {})
            kind = next((kind for kind in PICTURES if kind in data), None)
            if kind is not None:
                picture = f"{address.removesuffix('.md')}-{len(parts)}.{PICTURES[kind]}"
                content = "".join(data[kind])
                yield picture, b64decode(content) if kind == "image/png" else content.encode()
                parts.append(f"![The output of the code above]({posixpath.basename(picture)})")
            elif text := "".join(output.get("text", data.get("text/plain", ""))):
                parts.append(fence(text, "text"))
    yield address, "\n\n".join(parts) + "\n"


def title_of(markdown: str) -> str:
    heading = re.search(r"^# (.+)$", markdown, re.MULTILINE)
    return heading[1] if heading else "Untitled"


def fence(code: str, language: str) -> str:
    """A block of code, also if it contains such blocks itself."""
    ticks = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", code))])
    return f"{ticks}{language}\n{code.rstrip()}\n{ticks}"


def prepare(markdown: str, source: Path) -> str:
    """What GitHub understands, as Python-Markdown does: links on the site, Markdown inside <details>, tables after
    comments."""
    here = posixpath.dirname(address_of(source))

    def change(text: str) -> str:
        text = LINK.sub(lambda link: relink(link[0], source, here), text)
        text = re.sub(r"^<!--.*?-->$", "\n", text, flags=re.MULTILINE | re.DOTALL)
        return text.replace("<details>", '<details markdown="1">')

    return outside_fences(markdown, change)


def relink(link: str, source: Path, here: str) -> str:
    """A link of the repository as a link of the site."""
    target, (_, hash_sign, heading) = resolve(link, source), link.partition("#")
    if target is None or link.startswith("#"):
        return link
    return f"{posixpath.relpath(address_of(target), here or '.')}{hash_sign}{heading}"


def resolve(link: str, source: Path) -> Path | None:
    """The file or folder of the repository that a link leads to, if any."""
    path = link.partition("#")[0]
    if not path or re.match(r"[a-z]+:", link):
        return None
    target = ((source if source.is_dir() else source.parent) / path).resolve()
    return target if target.exists() and target.is_relative_to(ROOT) else None


def links(markdown: str) -> list[str]:
    found: list[str] = []

    def collect(text: str) -> str:
        found.extend(LINK.findall(text))
        return text

    outside_fences(markdown, collect)
    return found


def outside_fences(markdown: str, change: Callable[[str], str]) -> str:
    """Change the text between blocks of code."""
    result, since = [], 0
    for block in FENCED.finditer(markdown):
        result += [change(markdown[since : block.start()]), block[0]]
        since = block.end()
    return "".join([*result, change(markdown[since:])])
