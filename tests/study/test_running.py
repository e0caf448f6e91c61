"""Studies run in processes, save every trial, continue, and answer."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from saccade import study
from saccade.errors import UserError
from saccade.language import Bilingual
from saccade.study import running
from saccade.study.options import StudyOptions
from saccade.study.result import StudyResult, combine
from saccade.study.study import MeasuredTrial, Runs, Threshold, interval_of

SAID = Bilingual(en="one", zh="一")


def result_with(values: Mapping[str, Sequence[float]], *thresholds: Threshold) -> StudyResult:
    runs = [
        MeasuredTrial({"model": model}, seed, {"bleu": value})
        for model, every in values.items()
        for seed, value in enumerate(every, 1)
    ]
    found = study.list_studies()[0]
    changed = type("Changed", (type(found),), {"thresholds": thresholds})()
    return StudyResult(study=changed, quick=False, runs=Runs(runs), seconds=1.0, provenance={})


def test_runs_are_chosen_by_their_settings() -> None:
    runs = result_with({"rnn": [1.0, 3.0], "transformer": [5.0, 6.0]}).runs
    assert runs.values("bleu", model="rnn") == [1.0, 3.0] and runs.mean("bleu", model="transformer") == 5.5
    assert runs.settings("model") == ["rnn", "transformer"] and len(runs.where(model="rnn")) == 2
    with pytest.raises(KeyError, match="cnn"):
        runs.values("bleu", model="cnn")


def test_an_interval_is_that_of_students_t() -> None:
    # Of 1, 2, 3: the standard deviation is 1, the standard error 1/√3, and t with 2 degrees of freedom 4.303.
    low, high = interval_of([1.0, 2.0, 3.0])[1:3]
    assert (low, high) == pytest.approx((2 - 4.303 / 3**0.5, 2 + 4.303 / 3**0.5))
    assert interval_of([2.0])[:3] == (2.0, 2.0, 2.0)


@pytest.mark.parametrize(("least", "answer"), [(1.0, "held"), (2.0, "held in part"), (4.0, "did not hold")])
def test_a_threshold_holds_if_every_seed_is_within_the_bound(least: float, answer: str) -> None:
    threshold = Threshold(text=SAID, value=lambda runs: runs.values("bleu", model="rnn"), least=least)
    result = result_with({"rnn": [1.0, 3.0]}, threshold)
    assert result.answer == answer and result.decisions[0].interval.mean == 2.0


def test_a_study_holds_if_all_thresholds_do() -> None:
    assert combine(["held", "held"]) == "held" and combine(["did not hold"] * 2) == "did not hold"
    assert combine(["held", "did not hold"]) == combine(["held", "held in part"]) == "held in part"


@pytest.fixture
def options(tmp_path: Path) -> StudyOptions:
    return StudyOptions(quick=True, out=tmp_path, jobs=1, lang="zh")


def test_a_study_continues_where_it_was_interrupted(options: StudyOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "kernel-regression"
    (first,) = study.run_studies([name], options, say=lambda text: None)
    folder = running.folder_of(name, options)
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert '<html lang="zh">' in page and "论点" in page and (folder / "figure-1.svg").exists()
    saved = study.load(folder / "result.json")
    assert saved.to_dict() == first.to_dict() and str(options.out) not in json.dumps(first.to_dict()["runs"])
    monkeypatch.setattr(running, "measure", None)  # nothing is measured again
    said: list[str] = []
    (second,) = study.run_studies([name], options, say=said.append)
    assert second.to_dict()["runs"] == first.to_dict()["runs"]
    assert any(first.study.thresholds[0].text.en in line for line in said)


def test_results_of_another_version_are_not_reused(options: StudyOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "kernel-regression"
    plan = running._plan(name, options)
    folder = running.folder_of(name, options)
    folder.mkdir()
    saved = {"study": name, "version": plan.study.version, "quick": True, "trials": []}
    saved["trials"] = [{"settings": {}, "seed": 1, "measured": {}, "seconds": 1.0}]
    (folder / "trials.json").write_text(json.dumps(saved), encoding="utf-8")
    assert not running._PendingStudy(plan, folder).left
    (folder / "trials.json").write_text(json.dumps({**saved, "version": 0}), encoding="utf-8")
    assert running._PendingStudy(plan, folder).left
    (folder / "trials.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match=r"trials\.json: not a file of `saccade study`"):
        running._PendingStudy(plan, folder)


def test_an_out_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    options = StudyOptions(quick=True, out=tmp_path / "file", jobs=1)
    with pytest.raises(UserError, match="file: not a folder; give another --out"):
        list(study.run_studies(["kernel-regression"], options, say=lambda text: None))
    assert (tmp_path / "file").is_file()


@pytest.mark.parametrize("content", ["{", "[]", '{"study": "kernel-regression"}'])
def test_a_file_that_is_no_result_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=r"result\.json: not a result of `saccade study`"):
        study.load(tmp_path / "result.json")


def test_an_unknown_study_is_refused() -> None:
    with pytest.raises(UserError, match="there is no study 'kernel'; did you mean 'kernel-regression'"):
        study.run("kernel", quick=True)


@pytest.mark.parametrize("each", study.list_studies(), ids=lambda each: each.name)
def test_every_study_states_its_claim_in_both_languages(each: study.Study) -> None:
    for text in (each.title, each.claim, each.method, each.limits, *(t.text for t in each.thresholds)):
        assert text.en and any("\u4e00" <= char <= "\u9fff" for char in text.zh)
    assert each.thresholds and each.paper
    for quick in (True, False):
        trials = each.trials(quick=quick)
        assert trials and json.loads(json.dumps(list(trials))) == [dict(trial) for trial in trials]
