"""After a crash at any moment, in whatever order the disk was written, a reader finds the old or the new, never both.

`pytest -s` prints how many states were tried.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from crashes import Outcome
from disk import Disk, Operation, State, crash_states
from programs import crash_save, crash_training, crash_translation, save
from recording import recording

from saccade import files
from saccade.journal import Journal

Crash = Callable[..., Outcome]


def first_save(scratch: Path, **bounds: Any) -> Outcome:
    return crash_save(scratch, first=True, **bounds)


@pytest.mark.parametrize("crash", [first_save, crash_save, crash_translation])
def test_crash_leaves_the_old_or_the_new_contents(crash: Crash, tmp_path: Path) -> None:
    outcome = crash(tmp_path, most=50)
    typer.echo(f"{crash.__name__}: {outcome}")
    assert not outcome.failures, outcome.failures[0]
    assert outcome.tried == 50 and outcome.operations > 40


@pytest.mark.slow
@pytest.mark.parametrize("crash", [first_save, crash_save, crash_translation])
def test_every_state(crash: Crash, tmp_path: Path) -> None:
    outcome = crash(tmp_path, samples=12)
    typer.echo(f"{crash.__name__}: {outcome}")
    assert not outcome.failures, outcome.failures[0]
    assert outcome.tried == outcome.states > 250


@pytest.mark.slow
def test_run_resumes_from_any_crash_state(tmp_path: Path) -> None:
    outcome = crash_training(tmp_path, most=40)
    typer.echo(outcome)
    assert not outcome.failures, outcome.failures[0]


@pytest.mark.slow
@pytest.mark.long
def test_run_resumes_from_many_crash_states(tmp_path: Path) -> None:
    outcome = crash_training(tmp_path, most=600)  # of about 2,500
    typer.echo(outcome)
    assert not outcome.failures, outcome.failures[0]


SYNC = files.sync


@pytest.mark.slow
@pytest.mark.parametrize(
    ("crash", "where", "name", "without"),
    [
        (crash_save, files, "sync_tree", lambda folder: None),  # before the commit
        (crash_save, files, "sync", lambda path: None if path.name == "saved" else SYNC(path)),  # after the commit
        (first_save, files, "_make_folder", lambda place: place.mkdir()),  # before files are moved into it
        (crash_translation, Journal, "_sync_folders", lambda self: None),
    ],
)
def test_missing_fsync_is_detected(
    crash: Crash, where: Any, name: str, without: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, without)
    assert crash(tmp_path, stop=True).failures


def test_a_save_is_synced_in_order(tmp_path: Path) -> None:
    """All new files and their folders, then the commit, then the folder, then the moves."""
    save(tmp_path, 1)
    with recording(tmp_path) as record:
        save(tmp_path, 2)
    done = record.operations
    commit = next(n for n, step in enumerate(done) if step.name == ".committed" and step.folder == 0)
    written = {step.node for step in done[:commit] if step.kind == "write"}
    assert len(written) == 5
    for node in written:
        last = max(n for n, step in enumerate(done) if step.kind == "write" and step.node == node)
        assert any(step.kind == "fsync" and step.node == node for step in done[last:commit])
    assert done[commit + 1].kind == "fsync" and done[commit + 1].node == 0
    moves = [step.name for step in done[commit + 2 :] if step.kind == "rename"]
    assert sorted(moves) == ["README.md", "config.json", "model.safetensors", "state.json", "state.safetensors"]
    assert not [step for step in done[commit:] if step.kind in ("write", "create", "truncate", "unlink")]


def test_the_model_of_a_disk_by_hand() -> None:
    """One file written and renamed over another, without any fsync: what may be left was worked out on paper."""
    before = Disk({0: {"a": 1}}, {1: b"old"})
    operations = [
        Operation(kind="create", node=2, folder=0, name="t"),
        Operation(kind="write", node=2, data=b"new"),
        Operation(kind="rename", node=2, folder=0, name="a", old_folder=0, old_name="t"),
    ]

    def left(states: list[State]) -> set[tuple[tuple[str, bytes | None], ...]]:
        return {tuple(sorted(state.disk.tree().items())) for state in states if state.after == len(operations)}

    old, partly = ("a", b"old"), (b"", b"n", b"\0\0\0", b"new")
    possible = {(old,), *(((old), ("t", content)) for content in partly), *((("a", content),) for content in partly)}
    found = left(list(crash_states(before, operations, samples=50, seed=1)))
    assert {(old,), (("a", b""),), (("a", b"new"),), (old, ("t", b"")), (old, ("t", b"new"))} <= found
    torn = {state for state in found if any(content in (b"n", b"ne") for _, content in state)}
    assert found - torn <= possible

    operations[2:2] = [Operation(kind="fsync", node=2)]
    operations.append(Operation(kind="fsync", node=0))
    assert left(list(crash_states(before, operations, samples=50, seed=1))) == {(("a", b"new"),)}
