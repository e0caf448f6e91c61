"""The public API: every command is one call in Python, with the same names and defaults."""

import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import saccade
from saccade.align.options import AlignOptions
from saccade.cli.commands import app
from saccade.comparison.options import CompareOptions
from saccade.data import TextPair
from saccade.data.inputs import list_pairs, name_pairs
from saccade.decode.cluster.options import ClusterOptions
from saccade.decode.engines.options import EngineOptions, ExportOptions
from saccade.decode.options import (
    EnsembleOptions,
    FileOptions,
    RerankingModels,
    RerankingOptions,
    ScoreOptions,
)
from saccade.decode.shortlist.options import ShortlistOptions
from saccade.errors import UserError
from saccade.evaluation.options import EvaluateOptions
from saccade.public_data.options import GetOptions
from saccade.ranges import OptionError
from saccade.tour import TourOptions
from saccade.train.request import TrainingRequest

CAT = "the black cat sleeps"


@pytest.fixture(scope="module")
def model(model_folder: Path) -> saccade.Model:
    return saccade.load(str(model_folder), device="cpu")


class Table:
    """As much of a DataFrame as is needed."""

    def __init__(self, **columns: list[str]) -> None:
        self.columns, self._columns = list(columns), columns

    def __getitem__(self, name: str) -> list[str]:
        return self._columns[name]


def test_fit_trains_on_pairs_in_memory_and_loads_the_model(pairs: list[TextPair], tmp_path: Path) -> None:
    steps: list[int] = []
    settings = {"model.preset": "tiny", "train.judge": "loss", "train.check_every": 1, "train.device": "cpu"}
    fitted = saccade.fit(
        Table(source=[pair.source for pair in pairs], target=[pair.target for pair in pairs]),
        out=str(tmp_path / "model"),
        budget=2,
        settings=settings,
        progress=lambda step, total: steps.append(step),
        device="cpu",
    )
    assert steps[-1] == 2 and len(fitted.translate([CAT])) == 1
    assert "```python\nsaccade.fit(" in (tmp_path / "model" / "README.md").read_text(encoding="utf-8")
    saved = (tmp_path / "model" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(saved[0]) == pairs[0]._asdict() and len(saved) == len(pairs)
    with pytest.raises(UserError, match="not empty"):
        saccade.fit(pairs, out=tmp_path / "model")
    with pytest.raises(TypeError, match="there is no option 'buget'; did you mean 'budget'"):
        saccade.fit("pairs.tsv", buget="1m")


def test_translate_takes_the_options_of_the_command(model: saccade.Model) -> None:
    done: list[tuple[int, int | None]] = []
    (best,) = model.translate([CAT], n_best=2, progress=lambda *call: done.append(call))
    assert best.text == "le chat noir dort" and len(best.alternatives) == 1 and done[-1] == (1, 1)
    (kept,) = model.translate([CAT], include=("chien",))
    assert "chien" in kept.text.split()
    with pytest.raises(TypeError, match="did you mean 'beam'"):
        model.translate([CAT], bem=3)
    with pytest.raises(OptionError, match=r"^beam must be from 1 to 10,000, got 0$"):
        model.translate([CAT], beam=0)
    with pytest.raises(TypeError, match="not both"):
        model.translate([CAT], prefix="le", constraints=saccade.Constraints(prefix="un"))


def test_files_are_translated_and_scored_line_by_line(model: saccade.Model, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text(f"{CAT}\n\n", encoding="utf-8")
    lines: list[str] = []
    model.translate_file(tmp_path / "in.txt", write=lines.append, beam=1)
    assert lines == ["le chat noir dort", ""]
    model.translate_file(str(tmp_path / "in.txt"), out=str(tmp_path / "out.txt"), beam=1, exclude=["房"])
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "le chat noir dort\n\n"
    totals = model.score_file([(CAT, "le chat noir dort")], write=lines.append, value="perplexity")
    (score,) = model.score([CAT], ["le chat noir dort"])
    assert float(lines[-1]) == pytest.approx(score.perplexity, abs=1e-5) and totals.pairs == 1


def test_model_evaluates_and_aligns(model: saccade.Model, pairs: list[TextPair], tmp_path: Path) -> None:
    chosen = pairs[:8]
    result = model.evaluate(chosen, metrics="bleu,chrf", resamples=0, beam=2)
    assert set(result.runs[0].evaluation.scores.measured) == {"bleu", "chrf"}
    report = tmp_path / "report.html"
    again = saccade.evaluate([model], chosen, metrics="bleu,chrf", resamples=0, beam=2, report=report)
    assert again.to_dict() == result.to_dict()
    assert "saccade.evaluate([&lt;Model " in report.read_text(encoding="utf-8")  # not the command line of this process
    (aligned,) = model.align([CAT], ["le chat noir dort"], by="word")
    assert aligned.source == ("the", "black", "cat", "sleeps") and aligned.links
    links: list[str] = []
    model.align_file([(CAT, "le chat noir dort")], by="word", write=links.append)
    assert {tuple(map(int, link.split("-"))) for link in links[0].split()} == set(aligned.links)


def test_describe_data_counts_and_writes_the_remaining_pairs(pairs: list[TextPair], tmp_path: Path) -> None:
    report = saccade.describe_data([*pairs, pairs[0]], clean=["duplicates"], out=tmp_path / "clean.tsv")
    assert report.report.kept == len(set(pairs)) and (tmp_path / "clean.tsv").is_file()
    assert {"attentions", "models", "tasks"} <= {name.removeprefix("list_") for name in dir(saccade)}
    assert len(saccade.list_tasks()) > 5


def test_pairs_come_in_any_form(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("a\tb\n", encoding="utf-8")
    expected = [TextPair("a", "b")]
    assert list_pairs([("a", "b")]) == list_pairs(Table(en=["a"], fr=["b"], id=["1"])) == expected
    assert list_pairs(Table(target=["b"], source=["a"])) == expected
    for given in (tmp_path / "a.tsv", str(tmp_path / "a.tsv"), iter([("a", "b")])):
        opened = name_pairs(given)
        assert list(opened.pairs) == opened.complete() == expected
    opened = name_pairs("task:reverse", count=3, seed=2)
    assert len(list(opened.pairs)) == 3 and opened.name == "task:reverse, test split, seed 2"
    for bad in (["ab"], [("a", 1)], [("a",)]):
        with pytest.raises(UserError, match=r"pair 1: .* expected \(source, target\)"):
            list_pairs(bad)


CALLS: dict[str, tuple[Any, ...]] = {
    "train": (TrainingRequest,),
    "translate": (
        FileOptions,
        saccade.Search,
        saccade.Constraints,
        RerankingOptions,
        EnsembleOptions,
        EngineOptions,
        ClusterOptions,
        saccade.load,
    ),
    "shortlist": (ShortlistOptions, saccade.Model.make_shortlist, saccade.load),
    "export": (ExportOptions, saccade.Model.export),
    "score": (ScoreOptions, EnsembleOptions, saccade.Model.score_file, saccade.load),
    "rerank": (saccade.Model.tune_reranking, RerankingModels, saccade.Search, saccade.load),
    "calibrate": (saccade.Model.calibrate, saccade.Search, saccade.load),
    "align": (AlignOptions, saccade.Model.align_file, saccade.load),
    "evaluate": (EvaluateOptions, saccade.Search, saccade.evaluate),
    "compare": (CompareOptions, saccade.Search, saccade.compare),
    "sweep": (saccade.sweep,),
    "data": (saccade.describe_data,),
    "get": (GetOptions, saccade.get),
    "try": (TourOptions, saccade.run_tour),
}
RENAMED = {"folder": "model", "systems": "system", "as_json": "", "help": "", "trust_code": "", "summary": ""}


@pytest.mark.parametrize("name", CALLS)
def test_every_option_of_a_command_is_an_option_of_the_call(name: str) -> None:
    import typer.main

    group: Any = typer.main.get_command(app)
    known = set(RENAMED.values()) | {"file", "model", "system", "systems"}
    for call in CALLS[name]:
        known |= (
            {field.name for field in fields(call)}
            if isinstance(call, type)
            else set(inspect.signature(call).parameters)
        )
    options = {parameter.name for parameter in group.commands[name].params} - RENAMED.keys()
    assert options <= known, options - known
