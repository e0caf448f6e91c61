"""The results of studies and the output of commands, for the pages of the story."""

import json
from pathlib import Path

from saccade import study
from saccade.language import Bilingual, Language
from saccade.study.pages import decision_table, figures, markdown_table

ROOT = Path(__file__).resolve().parents[1]
STUDIES = ROOT / "benchmarks" / "results" / "studies"
RUNS = ROOT / "benchmarks" / "results" / "story-runs.json"
# What the pages run: each takes less than a minute.
_RUN = (
    "polysemy",
    "word-by-word",
    "vanishing-gradient",
    "length",
    "scale",
    "word-order",
    "parallel",
    "kernel-regression",
)
COMMANDS = {name: f"saccade study {name} --quick" for name in _RUN}
_MISSING = Bilingual(en="*Not measured yet.*", zh="*尚未测量。*")
_MORE = Bilingual(en="The whole study: [{}]({}).", zh="完整的小实验见[{}]({})。")


def study_summary(name: str, language: Language) -> str:
    """The answer of a study with its thresholds and its first figure, for a page in docs/story/LANGUAGE."""
    path = STUDIES / f"{name}.json"
    if not path.exists():
        return _MISSING.within(language)
    result = study.load(path)
    decisions, title = decision_table(result, language), result.study.title.within(language)
    parts = [f"**{decisions.title}**", markdown_table(decisions.columns, decisions.rows)]
    if figures(result, language):
        parts.append(f"![{title}](../../images/studies/{name}-1.{language}.svg)")
    parts.append(_MORE.within(language).format(title, f"../../studies/{language}/{name}.md"))
    return "\n\n".join(parts)


def command_output(name: str) -> str:
    """A command with what it prints on standard output."""
    saved = json.loads(RUNS.read_text(encoding="utf-8")) if RUNS.exists() else {"outputs": {}}
    output = saved["outputs"].get(name, "…\n")
    return f"```console\n$ {COMMANDS[name]}\n{output}```"
