"""A comparison from end to end: all models, continued training, costs, the report."""

import json
import os
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import pytest
from outline import Outline

from saccade.comparison.compare import Comparer
from saccade.comparison.costs import CostBench, Workload, _result
from saccade.comparison.options import CompareOptions
from saccade.comparison.planning import make_plan
from saccade.comparison.result import Comparison
from saccade.decode import Search
from saccade.errors import Say, UserError, as_bar
from saccade.evaluation.evaluation_set import EvaluationSet
from saccade.evaluation.results import title
from saccade.models import MODELS

QUICK = CompareOptions(resamples=20, rounds=0, shown=2, device="cpu")
GREEDY = Search(beam=1, longest=8)


def run(
    systems: list[str], pairs: EvaluationSet, out: Path, say: Say = lambda _: None, **changes: object
) -> Comparison:
    options = replace(QUICK, **changes)
    return Comparer(make_plan(systems, options), pairs, out, options, GREEDY, as_bar(None)).compare(say)


HOSTILE = "<script>alert(\"&'</script>\x1b[31m"


@pytest.fixture(scope="module")
def zoo(folder_of: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Path]:
    """All models, untrained, on hostile sentences."""
    out = tmp_path_factory.mktemp("zoo")
    pairs = EvaluationSet(
        name=f"pairs of {HOSTILE}",
        sources=["the cat sleeps", HOSTILE, "we see the black house"],
        references=[["le chat dort"], [HOSTILE], ["我们看见黑房子", "nous"]],
        places=[0, 1, 2],
        total=3,
    )
    return run([str(folder_of(name)) for name in MODELS], pairs, out), out


def test_all_models_can_be_compared(zoo: tuple[Comparison, Path]) -> None:
    found, out = zoo
    assert [system.name for system in found.systems] == list(MODELS)
    assert len(found.pairwise) == 3 * len(MODELS) * (len(MODELS) - 1) // 2
    for name, looked in found.attention.items():
        if name in ("aligned-rnn", "kalchbrenner2013", "cho2014", "sutskever2014"):
            assert looked == MODELS[name].paper.reads
            continue
        assert not isinstance(looked, str) and len(looked) == len(found.differing)
        for one, seen in zip(found.differing, looked):
            assert seen.words().shape == (len(seen.target.words), len(seen.source.words))
            assert "".join(seen.target.words) in one.outputs[name].replace(" ", "")
    assert json.loads(json.dumps(found.to_dict()))["systems"][0]["runs"][0]["seed"] is None
    assert len(list((out / "outputs").iterdir())) == len(MODELS)


def test_the_report_is_one_file_and_escapes_all_text(zoo: tuple[Comparison, Path], tmp_path: Path) -> None:
    found, _ = zoo
    found.write_report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    outline = Outline(page)
    assert not {"script", "link", "img", "iframe", "base", "object"} & set(outline.tags)
    assert not [name for name, _ in outline.attributes if name in ("src", "href", "srcset") or name.startswith("on")]
    assert not re.search(r"https?:|url\(|@import|//[a-z]", page) and "\x1b" not in page
    assert "alert(\"&'</script>\\x1b[31m" in outline.text and "prefers-color-scheme:dark" in page
    assert {"svg", "table", "article", "details", "figure"} <= set(outline.tags)
    for said in (
        "What was compared",
        "BLEU of each system",
        "Is it better?",
        "By source length",
        "Where they differ most",
        "No heatmap: this model has no attention. It reads the source through one fixed vector",
        "Settings in which they differ",
        "Made by",
        "given as trained models",
        "A single run does not show how much seeds vary",
    ):
        assert said in outline.text, said
    for name in MODELS:
        assert name in outline.text
    assert len(page) < 400_000
    assert "Rows are target words" in outline.text and "pieces of the target" not in outline.text
    found.write_report(tmp_path / "by-piece.html", "piece")
    assert "pieces of the target" in (tmp_path / "by-piece.html").read_text(encoding="utf-8")


def test_the_report_is_also_written_in_chinese(zoo: tuple[Comparison, Path], tmp_path: Path) -> None:
    found, _ = zoo
    found.write_report(tmp_path / "report.html", language="zh")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<html lang="zh">' in page
    headings = [re.sub("<.*?>", "", heading) for heading in re.findall("<h2>(.*?)</h2>", page)]
    names = [re.sub("<.*?>", "", name) for name in re.findall('<th scope="col".*?>(.*?)</th>', page)]
    summaries = [re.sub("<.*?>", "", name) for name in re.findall("<summary>(.*?)</summary>", page)]
    known = {*MODELS, *map(title, found.metrics), "p", "n", ""}
    read = [seen for looked in found.attention.values() if not isinstance(looked, str) for seen in looked]
    known |= {word for seen in read for word in seen.source.words}
    texts = [text for text in (*headings, *names, *summaries) if text not in known]
    assert len(texts) > 20 and not [text for text in texts if not re.search(r"[\u4e00-\u9fff]", text)]
    text = Outline(page).text
    assert "未画热力图：这个模型没有注意力。" in text and "只有一个随机种子，无法判断" in text


def test_finished_runs_are_not_trained_again(recipe: Callable[..., Path], few: EvaluationSet, tmp_path: Path) -> None:
    asked = [str(recipe("cho2014")), str(recipe("bahdanau2014"))]
    said: list[str] = []
    first = run(asked, few, tmp_path / "out", said.append, seeds="1")
    assert [line.split(":")[0] for line in said if "step" not in line] == ["1 of 2", "2 of 2"]
    assert [run.seed for run in first.systems[0].runs] == [1] and first.systems[0].runs[0].folder.is_dir()
    assert first.settings["cho2014"]["train"]["max_steps"] == 2 and first.plan.unequal == ()
    made = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*") if path.is_file()}
    said.clear()
    again = run(asked, few, tmp_path / "out", said.append, seeds="1")
    assert all(line.endswith("finished already") for line in said) and len(said) == 2
    assert made == {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert {**again.to_dict(), "provenance": None} == {**first.to_dict(), "provenance": None}
    more = run(asked, few, tmp_path / "out", said.append, seeds="2")
    assert [run.seed for run in more.systems[0].runs] == [1, 2]
    with pytest.raises(UserError, match=r"train\.lr was"):
        run(asked, few, tmp_path / "out", seeds="1", settings=("train.lr=1e-2",))


def test_saved_outputs_are_used_only_for_their_model_and_sources(
    folder_of: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = folder_of("cho2014")
    texts, advances = ["the cat", "a dog"], []
    pairs = EvaluationSet(name="two", sources=texts, references=[[text] for text in texts], places=[0, 1], total=2)
    bar = as_bar(lambda finished, total: advances.append((finished, total)))
    comparer = Comparer(make_plan([str(folder), f"{folder}:as=b"], QUICK), pairs, tmp_path, QUICK, GREEDY, bar)
    first = comparer.translate(folder, "translating")
    assert len(first) == 2 and advances[-1] == (2, 2)
    (saved,) = (tmp_path / "outputs").iterdir()
    text = saved.read_text(encoding="utf-8").replace(json.dumps(first[0], ensure_ascii=False), '"kept"')
    saved.write_text(text, encoding="utf-8")
    assert comparer.translate(folder, "translating")[0] == "kept"
    assert replace(comparer, search=replace(GREEDY, longest=3)).translate(folder, "translating")[0] != "kept"
    assert len(replace(comparer, pairs=replace(pairs, sources=texts[:1])).translate(folder, "translating")) == 1


def test_a_failed_run_is_reported_and_the_others_are_saved(
    recipe: Callable[..., Path], few: EvaluationSet, tmp_path: Path
) -> None:
    one = recipe("cho2014")
    with pytest.raises(
        UserError, match=r"1 of 2 runs failed, the others are saved .* bad with seed 1: no pair is left"
    ):
        run([f"{one}:data.longest=1,as=bad", str(one)], few, tmp_path / "out", seeds="1", unequal=True)
    assert (tmp_path / "out" / "system=cho2014,seed=1" / "result.json").exists()


def test_cost_bench_changes_no_weights(folder_of: Callable[[str], Path], few: EvaluationSet) -> None:
    work = Workload.sample(few.pairs, GREEDY, 20, "cpu", 1)
    assert work.pairs == tuple(sorted(few.pairs, key=lambda pair: len(pair[0])))
    bench = CostBench(folder_of("bahdanau2014"), work)
    before = {name: weight.clone() for name, weight in bench.model.state_dict().items()}
    assert bench.training_speed() > 0 and bench.translation_speed() > 0 and len(bench.batches) > 1
    assert all(weight.equal(before[name]) for name, weight in bench.model.state_dict().items())


@pytest.mark.slow
def test_a_killed_process_is_reported_in_one_line() -> None:
    said = "measuring mine: its process was killed"
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool, pytest.raises(UserError, match=said):
        _result("mine", pool.submit(os._exit, 1))


@pytest.mark.slow
def test_costs_are_measured_per_system(folder_of: Callable[[str], Path], few: EvaluationSet, tmp_path: Path) -> None:
    found = run([str(folder_of("cho2014")), str(folder_of("vaswani2017"))], few, tmp_path, rounds=1)
    assert list(found.costs) == ["cho2014", "vaswani2017"]
    for cost in found.costs.values():
        assert cost.trained > 0 and cost.translated > 0 and cost.device == "cpu"
        assert cost.memory >= cost.memory_before > 2**20
    assert found.costs["cho2014"].parameters < found.costs["vaswani2017"].parameters
    found.write_report(tmp_path / "report.html")
    text = Outline((tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert f"{found.costs['cho2014'].parameters:,}" in text and "memory, MiB" in text
