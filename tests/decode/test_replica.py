"""The parts that a replica translates, joined, are the output of `saccade translate` without Ray."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from saccade.data.parts import InputPart, cut_lines
from saccade.data.storage import StoredFile
from saccade.decode import Translator
from saccade.decode.cluster.part_folder import PartFolder
from saccade.decode.cluster.replica import CorpusJob, Replica, as_row
from saccade.decode.engines.options import EngineOptions
from saccade.decode.options import DEFAULT_SEARCH, Constraints, FileOptions, RerankingOptions, Search
from saccade.journal import describe_command
from saccade.trained_model import Model

LINES = ["the cat sleeps", "", "a dog eats", "I see the house", "  ", "it sleeps", "a big dog", "we see", "extra"]
CASES: dict[str, dict[str, Any]] = {
    "text": {},
    "samples": {"search": Search(sample=True, beam=2, n_best=2, temperature=3)},
    "objects": {"jsonl": True},
    "constraints of each line": {"constraints_file": "asked.jsonl"},
    "constraints of all lines": {"constraints": Constraints(include=("chien",))},
    "minimum Bayes risk": {"rerankers": RerankingOptions(mbr="chrf")},
}


@pytest.fixture
def make(tmp_path: Path, learnt: Translator) -> Callable[..., tuple[Replica, list[InputPart]]]:
    """A replica for in.txt, and the parts; every file is in `tmp_path`"""
    (tmp_path / "in.txt").write_text("\n".join(LINES), encoding="utf-8")
    asked = [{"include": ["chien"]}, None, {}, {"exclude": ["chien"]}, None, {"prefix": "un"}, None, None, {}]
    written = ("" if item is None else json.dumps(item) for item in asked)
    (tmp_path / "asked.jsonl").write_text("".join(f"{line}\n" for line in written), encoding="utf-8")

    def make(
        search: Search = DEFAULT_SEARCH,
        constraints: Constraints = Constraints(),  # noqa: B008
        rerankers: RerankingOptions = RerankingOptions(),  # noqa: B008
        command: dict[str, Any] | None = None,
        **options: Any,
    ) -> tuple[Replica, list[InputPart]]:
        if "constraints_file" in options:
            options["constraints_file"] = tmp_path / options["constraints_file"]
        command = command or {"model": "m"}
        job = CorpusJob(
            file=StoredFile(str(tmp_path / "in.txt")),
            is_table=False,
            output=PartFolder(
                folder=StoredFile(str(tmp_path / "parts")), suffix=".txt", command=describe_command(command)
            ),
            command=command,
            load=lambda: learnt,
            folders=(),
            engine=EngineOptions(),
            trusts_code=False,
            options=FileOptions(chunk=2, **options),
            search=search,
            constraints=constraints,
            rerankers=rerankers,
        )
        with job.file.open() as stream:
            return Replica(job), list(cut_lines(stream, "in.txt", 4))

    return make


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_parts_are_the_whole(make: Any, learnt: Translator, tmp_path: Path, case: dict[str, Any]) -> None:
    replica, parts = make(**case)
    for part in reversed(parts):
        result = replica(as_row(part))
        assert result["lines"] == part.lines and result["error"] == ""
    joined = b"".join(replica.job.output.file(part).read() for part in parts)
    whole = {name: value for name, value in case.items() if name not in ("search", "constraints", "rerankers")}
    groups = DEFAULT_SEARCH, Constraints(), RerankingOptions()
    for group in map(case.get, ("search", "constraints", "rerankers"), groups):
        whole |= vars(group)
    if "constraints_file" in whole:
        whole["constraints_file"] = tmp_path / "asked.jsonl"
    Model(learnt).translate_file(tmp_path / "in.txt", chunk=2, out=tmp_path / "whole.txt", **whole)
    assert joined == (tmp_path / "whole.txt").read_bytes()


def test_a_finished_part_is_not_translated_again(make: Any) -> None:
    replica, (first, *_) = make()
    replica.job.output.file(first).write(b"finished\n")
    assert replica(as_row(first))["error"] == ""
    assert replica.job.output.file(first).read() == b"finished\n" and "_work" not in vars(replica)


def test_a_mistake_is_a_result_with_the_line_of_the_whole_file(make: Any, tmp_path: Path) -> None:
    replica, _ = make(jsonl_in=True)
    lines = ['{"source": "it sleeps"}'] * 9
    lines[6] = '{"sauce": "it sleeps"}'
    (tmp_path / "in.txt").write_text("\n".join(lines), encoding="utf-8")
    with replica.job.file.open() as stream:
        _, second, _ = cut_lines(stream, "in.txt", 4)
    assert "in.txt:7: there is no 'source'" in replica(as_row(second))["error"]
    assert replica.job.output.folder.names() == set()


def test_notes_about_lines_are_returned(make: Any) -> None:
    replica, (first, *_) = make(constraints=Constraints(include=("chien",)))
    assert "line 2: not met: 'chien': the source is blank" in replica(as_row(first))["messages"]


def test_fast_paths_are_explained_once(make: Any) -> None:
    replica, parts = make(explain=True)
    explained = [replica(as_row(part))["messages"] for part in parts]
    assert "CUDA graphs" in explained[0] and explained[1:] == ["", ""]


def test_a_machine_with_another_model_is_refused(make: Any, tmp_path: Path) -> None:
    replica, (first, *_) = make(command={"model": tmp_path / "weights"})
    (tmp_path / "weights").write_text("other weights", encoding="utf-8")
    assert "has other files than the machine of the command: model was" in replica(as_row(first))["error"]


def test_a_part_that_changed_meanwhile_is_refused(make: Any, tmp_path: Path) -> None:
    replica, (first, *_) = make()
    (tmp_path / "in.txt").write_text("another text\n" * 9, encoding="utf-8")
    assert "changed while it was read" in replica(as_row(first))["error"]


def test_an_empty_file_has_an_empty_output(make: Any, tmp_path: Path) -> None:
    replica, _ = make()
    (tmp_path / "in.txt").write_bytes(b"")
    with replica.job.file.open() as stream:
        (part,) = cut_lines(stream, "in.txt", 4)
    assert replica(as_row(part))["error"] == "" and replica.job.output.file(part).read() == b""
