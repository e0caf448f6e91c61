"""`saccade try`, at a size that takes seconds, and its output."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from rich.console import Console

from saccade.text import words
from saccade.tour import TourOptions
from saccade.tour.report import GAP_AT, show, targets, translate_example, write_report
from saccade.tour.run import (
    EDGES,
    EXAMPLES,
    SYSTEMS,
    TRAINED,
    baseline_errors,
    build_recipe,
    phrasebook,
    train_and_evaluate,
    train_both,
    unseen_pairs,
)

pytestmark = pytest.mark.slow
LABELS = ["1–5", "6–10", "11–15", "16–20", "21–30", "31–40", "41–60", "61–80"]
TINY = TourOptions(updates=4, pairs=200, judged=1, aligned=3, ambiguous=4)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("try")
    systems = {system: train_and_evaluate(system, TINY, folder / SYSTEMS[system]) for system in SYSTEMS}
    return {
        "effort": vars(TINY),
        "systems": systems,
        "aligners": baseline_errors(TINY),
        "test": [{"source": pair.source, "target": pair.target} for pair in unseen_pairs(TINY)],
        "provenance": {"command": "saccade try"},
        "folder": folder,
    }


def test_both_systems_have_equal_settings(results: dict[str, Any]) -> None:
    fixed, attention = (build_recipe(system, TourOptions()) for system in SYSTEMS)
    steps = {"max_steps": 1600, "check_every": 1600}  # the fixed context's take half the time, and are twice as many
    assert (fixed.train.max_steps, fixed.train.max_minutes, attention.train.max_minutes) == (3200, None, None)
    assert (fixed.data, replace(fixed.train, **steps)) == (attention.data, attention.train)
    assert [system["steps"] for system in results["systems"].values()] == [8, 4]
    for width in ("embedding", "hidden", "maxout", "dropout"):
        assert getattr(fixed.settings, width) == getattr(attention.settings, width)
    for system in results["systems"].values():
        assert [row["label"] for row in system["by_length"]] == LABELS
        assert [row["beyond"] for row in system["by_length"]] == [False] * 4 + [True] * 4
        assert len(system["translations"]) == len(EDGES) * TINY.judged
    assert results["systems"]["fixed context"]["alignment"] is None  # it has no weights to align by
    assert 0 <= results["systems"]["attention"]["alignment"]["aer"] <= 1


def test_the_diagonal_aligns_better_than_uniform() -> None:
    baselines = baseline_errors(TourOptions())
    assert baselines["diagonal"] < baselines["uniform"]


@pytest.mark.parametrize("to", EXAMPLES)
def test_the_example_has_only_words_of_the_training_data(to: Literal["fr", "de", "zh"]) -> None:
    pairs = phrasebook(TourOptions(to=to)).pairs(5000, seed=1, words=TRAINED)
    taught = {word for pair in pairs for word in words(pair.source)}
    assert set(words(EXAMPLES[to])) <= taught


def test_targets_follow_the_results(results: dict[str, Any]) -> None:
    assert [target.met for target in targets(results)][:2] == [False, False]  # nothing is learnt in a second
    better = json.loads(json.dumps({key: value for key, value in results.items() if key != "folder"}))
    better["systems"]["attention"]["up_to_20_words"]["bleu"] = 95.0
    better["systems"]["attention"]["alignment"]["aer"] = 0.15
    for row in better["systems"]["attention"]["by_length"]:
        if row["label"] == GAP_AT:
            row["scores"]["bleu"] = 80.0
    assert [target.met for target in targets(better)] == [True] * 3
    better["effort"]["to"] = "zh"  # in which the alignment error is measured, without a promise
    assert [target.claim.partition(":")[0] for target in targets(better)] == [
        "attention",
        "at 31–40 words attention is ≥ 30 BLEU above the fixed context",
    ]
    assert "BLEU ≥ 95" in targets(better, "zh")[0].claim and "带注意力的模型" in targets(better, "zh")[0].claim


def test_results_are_printed_and_reported(results: dict[str, Any], tmp_path: Path) -> None:
    results["heatmap"] = translate_example(results["folder"] / "bahdanau2014", "the dog sleeps.")
    assert results["heatmap"]["source"] == ["the", "dog", "sleeps", "."]
    console = Console(record=True, width=120)
    show(results, console)
    text = console.export_text()
    for expected in ("longer than training", "diagonal", "uniform", "cue removed", "not met"):
        assert expected in text
    write_report(results, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "http://" not in html and "https://" not in html and "<script" not in html
    assert results["test"][0]["source"] in html


def test_a_tour_in_chinese_learns_everyday_sentences_and_writes_a_chinese_report(tmp_path: Path) -> None:
    options = replace(TINY, to="zh", lang="zh")
    results = train_both(options, tmp_path, lambda _: None)
    assert results["effort"]["to"] == "zh" and results["everyday"][1] == {"source": "I love you.", "target": "我爱你。"}
    assert all(len(system["everyday"]) == len(results["everyday"]) for system in results["systems"].values())
    results |= {"provenance": {"command": "saccade try --to zh"}, "heatmap": {"target": []}}
    results["systems"]["attention"]["everyday"][1] = "我爱你。"
    console = Console(record=True, width=120)
    show(results, console)
    text = console.export_text()
    assert "Everyday sentences, learnt by heart: fixed context" in text and "I love you. → 我爱你。\n" in text
    write_report(results, tmp_path / "report.html", "zh")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<html lang="zh">' in page and "英语—汉语句对" in page and "日常句子" in page
    headings = [re.sub("<.*?>", "", heading) for heading in re.findall("<h2>(.*?)</h2>", page)]
    assert headings and all(re.search(r"[\u4e00-\u9fff]", heading) for heading in headings)


def test_french_learns_everyday_sentences_only_on_request() -> None:
    def learnt(**options: Any) -> str:
        return str(build_recipe("attention", TourOptions(**options)).data.pairs)

    assert learnt() == "task:phrasebook-en-fr"  # whose results are recorded
    assert learnt(everyday=True) == "task:everyday-en-fr"
    assert [learnt(to=to) for to in ("de", "zh")] == ["task:everyday-en-de", "task:everyday-en-zh"]


@pytest.mark.parametrize("during", ["start", "training"])
def test_ctrl_c_ends_all_processes_with_one_line(during: str, tmp_path: Path) -> None:
    """It reaches every process of the terminal, including the two that have just started and still import."""
    command = [sys.executable, "-m", "saccade", "try", "--updates", "5000", "--out", str(tmp_path / "out")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, start_new_session=True, stdout=pipe, stderr=subprocess.STDOUT, text=True) as running:
        sign = tmp_path / "out" / ("" if during == "start" else "bahdanau2014/cache")
        while not sign.exists():
            assert running.poll() is None
            time.sleep(0.05)
        time.sleep(1.0 if during == "start" else 5.0)
        os.killpg(running.pid, signal.SIGINT)
        output, _ = running.communicate(timeout=60)
        with pytest.raises(ProcessLookupError):  # soon nobody is left
            for _ in range(100):
                os.killpg(running.pid, 0)
                time.sleep(0.1)
    assert running.returncode == 1
    assert output.splitlines()[-1] == "saccade: interrupted" and "Traceback" not in output, output
