"""`saccade translate --ray`: mistakes that are reported before Ray is started."""

import sys
from pathlib import Path

import pytest
from running import Run


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "in.txt").write_text("it sleeps\n", encoding="utf-8")
    return tmp_path / "in.txt"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ray",), "--ray needs --out"),
        (("--ray", "--out", "{}/out.txt", "--heatmap"), "--heatmap is for a file that is translated on one machine"),
        (("--ray", "--out", "{}/out.txt", "--tree", "{}/tree"), "--tree is for a file that is translated on one"),
        (("--replicas", "2"), "--replicas 2: applies only with --ray"),
        (("--ray-address", "auto"), "--ray-address auto: applies only with --ray"),
        (("--ray", "--replicas", "0"), "--replicas must be from 1 to"),
        (
            ("--ray", "--out", "{}/out.txt", "--ray-address", "127.0.0.1:1"),
            "--ray-address 127.0.0.1:1: cannot be reached: Connection refused; give the address",
        ),
        (("--ray", "--out", "zzz://out"), "zzz://out: Protocol not known: zzz"),
        (("--ray", "--out", "{}/out.txt", "--tag", "<fr>"), "--tag <fr>: the tags that the model was trained with"),
    ],
)
def test_a_mistake_is_one_line(
    run: Run, model_folder: Path, source: Path, options: tuple[str, ...], message: str
) -> None:
    done = run("translate", model_folder, source, *(word.format(source.parent) for word in options))
    assert done.code == 2 and message in done.err and done.err.count("\n") == 1, done.err
    assert [path.name for path in source.parent.iterdir()] == ["in.txt"]


def test_standard_input_and_missing_files_are_refused(run: Run, model_folder: Path, tmp_path: Path) -> None:
    out = ("--ray", "--out", tmp_path / "out.txt")
    assert "--ray translates a file, of which workers read parts" in run("translate", model_folder, "-", *out).err
    assert "missing.txt: no such file" in run("translate", model_folder, tmp_path / "missing.txt", *out).err
    assert list(tmp_path.iterdir()) == []


def test_without_ray_it_says_what_to_install(
    run: Run, model_folder: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = run("translate", model_folder, source, "--ray", "--out", source.parent / "out.txt")
    assert done.code == 2 and "install it: pip install 'saccade[ray]'" in done.err
