"""The layers of the package, its file names and its class names."""

import ast
import os
import re
import subprocess
import sys
import zipfile
from itertools import combinations
from pathlib import Path

import pytest

import saccade

ROOT = Path(saccade.__file__).parent
# From the top down: a module imports only from its own layer's package or from layers below it.
LAYERS = [
    {"__main__"},
    {"cli"},
    {"api"},
    {"study"},
    {"comparison", "explorer", "serve", "tour", "lm", "words", "labels"},
    {"train"},
    {"trained_model"},
    {"file_work"},
    {"evaluation"},
    {"decode"},
    {"ngrams"},
    {"model_folder"},
    {"models"},
    {"layers"},
    {"attention"},
    {"inspect"},
    {"align", "metrics", "public_data"},
    {"data"},
    {"tasks"},
    {"text"},
    {"config"},
    {"ranges"},
    {"device", "language", "loops", "names", "processes", "products", "provenance"},
    {"journal"},
    {"locking"},
    {"files"},
    {"errors", "fast_paths", "lazy", "uncompiled"},
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
SOURCES = sorted(ROOT.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """The parts of saccade that a module imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "saccade":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names if alias.name in RANK}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("saccade.")}
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down_only(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if own == "__init__":  # resolves its names lazily
        return
    assert own in RANK, f"put {own!r} in its layer"
    for other in imported(path):
        assert other == own or RANK[other] > RANK[own], f"{own} may not import {other}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_are_small_and_have_telling_names(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 350
    assert not {"utils", "util", "helpers", "helper", "misc", "common"} & set(path.with_suffix("").parts)


# Each file of models/ is one paper, and all papers name their parts alike.
PAPER_CLASSES = {"Config", "Decoder", "DecoderLayer", "Encoder", "Fixed", "LayerMoving", "Moving"}


def test_public_class_names_are_unique() -> None:
    files: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    papers = {name for name in PAPER_CLASSES if all(file.startswith("models") for file in files[name])}
    assert {name: paths for name, paths in files.items() if len(paths) > 1 and name not in papers} == {}


def test_file_names_are_easily_told_apart() -> None:
    """No two names in a folder differ by one letter, or by tense or number alone: evaluated.py and evaluating.py."""
    folders: dict[Path, set[str]] = {}
    for path in SOURCES:
        folders.setdefault(path.parent, set()).add(path.stem)
    alike = [
        (str(folder.relative_to(ROOT)), *pair)
        for folder, names in folders.items()
        for pair in combinations(sorted(names), 2)
        if differ_by_one_letter(*pair) or stem(pair[0]) == stem(pair[1])
    ]
    assert alike == []


def differ_by_one_letter(one: str, other: str) -> bool:
    if min(len(one), len(other)) < 4:
        return False
    if len(one) == len(other):
        return sum(a != b for a, b in zip(one, other, strict=True)) == 1
    short, long = sorted((one, other), key=len)
    return any(long[:place] + long[place + 1 :] == short for place in range(len(long)))


def stem(name: str) -> str:
    return re.sub("(ing|ed|er|e)$", "", name.removesuffix("s"))


# The modules that a command may import from, with the names: the API, its options (dataclasses), and messages.
CLI_IMPORTS = {
    "saccade.errors": {"Progress", "UserError", "count_up", "plural", "printable", "say"},
    "saccade.provenance": {"recorded_command"},
    "saccade.trained_model": {"TEN_HYPOTHESES", "load"},  # `load` is saccade.load
    "saccade.api": {"run_training"},  # which calls what trains a request of this kind
    "saccade.train.request": {"TrainingRequest"},
    "saccade.train.pretraining": {"PretrainingRequest", "pretrain_model"},  # which saccade.pretrain calls, too
    "saccade.tour": {"TourOptions"},
    "saccade.align.options": None,
    "saccade.comparison.options": None,
    "saccade.decode.cluster.options": None,
    "saccade.decode.engines.options": None,
    "saccade.decode.options": None,
    "saccade.decode.shortlist.options": None,
    "saccade.evaluation.options": None,
    "saccade.public_data.options": None,
    "saccade.labels.options": None,
    "saccade.lm.options": None,
    "saccade.study.options": None,
    "saccade.words.options": None,
}


@pytest.mark.parametrize("path", sorted((ROOT / "cli").glob("*.py")), ids=lambda path: path.name)
def test_commands_hold_no_logic(path: Path) -> None:
    """A command parses its options, calls the API and prints: it imports nothing else of the package."""
    if path.name == "options.py":  # which makes options of dataclass fields
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("saccade."):
            if str(node.module).startswith("saccade.cli."):
                continue
            names = {alias.name for alias in node.names}
            allowed = CLI_IMPORTS.get(str(node.module), set())
            assert allowed is None or names <= allowed, f"{path.name}:{node.lineno}: {node.module}: {names}"
        assert not (isinstance(node, ast.ImportFrom) and node.module == "saccade"), "write `import saccade`"


def test_only_one_module_downloads() -> None:
    """That of `saccade get`. For hf:NAME, `datasets` downloads; clusters and object storage have libraries."""
    clients = re.compile(
        r"^\s*(?:import|from) (?:urllib\b(?!\.parse)|http\b|requests\b|httpx\b|aiohttp\b)", re.MULTILINE
    )
    users = [str(path.relative_to(ROOT)) for path in SOURCES if clients.search(path.read_text(encoding="utf-8"))]
    assert users == [str(Path("public_data", "download.py"))]


def test_public_names_resolve() -> None:
    for name in saccade.__all__:
        assert getattr(saccade, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Atention'"):
        saccade.Atention  # noqa: B018


@pytest.mark.parametrize(
    ("given", "code", "expected"),
    [
        ({}, "import saccade", ["PASSIVE", "0"]),
        ({"OMP_WAIT_POLICY": "ACTIVE", "KMP_BLOCKTIME": "7"}, "import saccade", ["ACTIVE", "7"]),
        # Too late for OpenMP, which has read its settings: those of later processes stay as they are.
        ({}, "import sys; sys.modules['torch'] = sys; import saccade", ["None", "None"]),
    ],
    ids=["by default", "unless the user chose", "not after torch"],
)
def test_threads_sleep_at_barriers(given: dict[str, str], code: str, expected: list[str]) -> None:
    names = ["OMP_WAIT_POLICY", "KMP_BLOCKTIME"]
    inherited = {name: value for name, value in os.environ.items() if name not in names}
    code += f"; import os; print(*map(os.environ.get, {names}))"
    started = [sys.executable, "-c", code]
    ran = subprocess.run(started, env=inherited | given, check=True, capture_output=True, text=True)
    assert ran.stdout.split() == expected


def packed(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


def kept(project: Path) -> set[str]:
    """The files of the package that are no leftovers of running it."""
    files = (path for path in ROOT.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(project).as_posix() for path in files}


@pytest.mark.slow
def test_wheel_installs_in_an_empty_environment(tmp_path: Path) -> None:
    project = ROOT.parent
    run = subprocess.run
    run([sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, project], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("saccade-*.whl")
    assert packed(wheel) == kept(project)
    run([sys.executable, "-m", "venv", tmp_path / "empty"], check=True)
    programs = tmp_path / "empty" / "bin"
    install = [programs / "python", "-m", "pip", "install", "--quiet", "-c", project / "constraints.txt", wheel]
    run(install, check=True, cwd=tmp_path)

    def saccade(*arguments: str) -> str:
        elsewhere = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"COLUMNS": "120"}
        command = [programs / "saccade", *arguments]
        done = run(command, check=False, cwd=tmp_path, env=elsewhere, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return str(done.stdout)

    commands = re.findall(r"^│ ([a-z]+) {2,}", saccade("--help"), re.MULTILINE)
    assert {"train", "translate", "evaluate", "compare", "try"} <= set(commands)
    for command in commands:
        assert "Usage:" in saccade(command, "--help")
    short = ("data.count=60", "train.max_steps=2", "model.preset=tiny", "train.device=cpu")
    saccade("train", "task:reverse", "--out", "run", *(word for setting in short for word in ("--set", setting)))
    (tmp_path / "in.txt").write_text("a b c\n", encoding="utf-8")
    assert saccade("translate", "run", "in.txt").count("\n") == 1


@pytest.mark.slow
def test_type_checker_finds_an_editable_install(tmp_path: Path) -> None:
    """Neither by an import hook, which only Python follows, nor without py.typed."""
    run = subprocess.run
    run([sys.executable, "-m", "venv", tmp_path / "fresh"], check=True)
    python = tmp_path / "fresh" / "bin" / "python"
    run([python, "-m", "pip", "install", "--quiet", "--no-deps", "-e", ROOT.parent], check=True, cwd=tmp_path)
    (tmp_path / "uses.py").write_text("from saccade import __version__\n\nreveal_type(__version__)\n", encoding="utf-8")
    check = [sys.executable, "-m", "mypy", "--python-executable", python, "--cache-dir", tmp_path / "cache", "uses.py"]
    elsewhere = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    checked = run(check, check=False, cwd=tmp_path, env=elsewhere, capture_output=True, text=True)
    assert 'Revealed type is "str"' in checked.stdout, checked.stdout
    assert "import-untyped" not in checked.stdout and "import-not-found" not in checked.stdout


def test_test_files_have_distinct_names() -> None:
    """pytest imports test files by name alone, so two of one name cannot be collected together."""
    names = [path.name for path in (ROOT.parent / "tests").rglob("test_*.py")]
    assert not {name for name in names if names.count(name) > 1}
