"""Write the pages of the studies from their results: docs/studies/en, docs/studies/zh and docs/images/studies.

saccade study --all --out runs/study
python docs/study_pages.py --results runs/study    # keeps the results in benchmarks/results/studies
python docs/study_pages.py                         # writes the pages again, from the results that are kept
"""

import argparse
from collections.abc import Mapping
from pathlib import Path

from saccade import study
from saccade.files import write_atomically
from saccade.language import Bilingual, Language
from saccade.study.pages import figures, markdown
from saccade.study.result import ANSWERS, RESULT, StudyResult

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "benchmarks" / "results" / "studies"
LANGUAGES: tuple[Language, ...] = ("en", "zh")
INTRODUCTION = Bilingual(
    en="""# Studies

Each study states the claim of a paper, sets thresholds for it before anything runs, trains small models on built-in
data, and answers whether the claim holds there. A threshold holds if every seed meets it; a claim that holds in part,
or not at all, is reported as such.

```bash
saccade study word-order             # a minute to some minutes on two CPU cores; interrupted, it continues
saccade study word-order --quick     # seconds: smaller models and a single seed
saccade study --all                  # all of them
saccade study --list
```

In Python, `saccade.study.run("word-order", quick=True)` returns the result: `.answer`, `.decisions`, `.runs`.""",
    zh="""# 小实验

每个小实验都取一篇论文的论点，在运行之前就定下判断标准，用内置数据训练小模型，再回答这个论点在这里成不成立。
一条标准要所有随机种子都达到才算成立；论点只有一部分成立，或者不成立，也照实写出来。

```bash
saccade study word-order --lang zh   # 双核 CPU 上一分钟到几分钟；中断后再运行会接着跑
saccade study word-order --quick     # 几秒：模型更小，只用一个随机种子
saccade study --all                  # 全部
saccade study --list
```

在 Python 里，`saccade.study.run("word-order", quick=True)` 返回结果：`.answer`、`.decisions`、`.runs`。""",
)
HEADER = Bilingual(
    en="| study | paper | result |\n| --- | --- | --- |", zh="| 小实验 | 论文 | 结果 |\n| --- | --- | --- |"
)
MADE_ON = Bilingual(
    en="Made by `{command}` on {cores} cores of {cpu} ({seconds:.0f} seconds of training and measuring), "
    "torch {torch}, {date}, commit {commit}.",
    zh="由 `{command}` 生成：{cpu}，{cores} 个核（训练和测量共 {seconds:.0f} 秒），"
    "torch {torch}，{date}，提交 {commit}。",
)


def load_results(folder: Path = KEPT) -> list[StudyResult]:
    """The results that are kept, in the order of the studies."""
    paths = [folder / f"{each.name}.json" for each in study.list_studies()]
    return [study.load(path) for path in paths if path.exists()]


def build_pages(results: list[StudyResult]) -> Mapping[str, str]:
    """The content of each file, by its path below docs."""
    pages = {}
    for language in LANGUAGES:
        rows = []
        for result in results:
            name, title = result.study.name, result.study.title.within(language)
            drawn = figures(result, language)
            places = [f"images/studies/{name}-{place}.{language}.svg" for place in range(1, len(drawn) + 1)]
            pages |= dict(zip(places, drawn, strict=True))
            page = markdown(result, language, [f"../../{place}" for place in places])
            pages[f"studies/{language}/{name}.md"] = f"{page}\n{describe_origin(result, language)}\n"
            rows.append(f"| [{title}]({name}.md) | {result.study.paper} | {ANSWERS[result.answer].within(language)} |")
        table = "\n".join([HEADER.within(language), *rows])
        pages[f"studies/{language}/index.md"] = f"{INTRODUCTION.within(language)}\n\n{table}\n"
    return pages


def describe_origin(result: StudyResult, language: Language) -> str:
    made = result.provenance
    return MADE_ON.within(language).format(
        command=made["command"],
        cores=made["machine"]["cores"],
        cpu=made["machine"]["cpu"],
        seconds=result.seconds,
        torch=made["versions"]["torch"],
        date=made["date"][:10],
        commit=(made["commit"] or "unknown")[:10],
    )


def keep_results(folder: Path) -> None:
    """Copy the results of full runs."""
    KEPT.mkdir(parents=True, exist_ok=True)
    for each in study.list_studies():
        path = folder / each.name / RESULT
        if path.exists():
            study.load(path).save(KEPT / f"{each.name}.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, help="the --out folder of `saccade study`")
    given = parser.parse_args()
    if given.results is not None:
        keep_results(given.results)
    for path, content in build_pages(load_results()).items():
        place = ROOT / "docs" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(place, content)


if __name__ == "__main__":
    main()
