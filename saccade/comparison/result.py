"""The result of a comparison, and what is shown of it: JSON, tables for the terminal and a report, one HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from saccade.align import PairAttention
from saccade.comparison.costs import Cost
from saccade.comparison.judging import LONGEST_SHOWN, ComparedSystem, DifferingSentence, PairTest
from saccade.comparison.options import CompareOptions
from saccade.comparison.planning import Plan
from saccade.decode import Search
from saccade.errors import plural
from saccade.evaluation.evaluation_set import EvaluationSet
from saccade.evaluation.results import Table, add_length_chart, behaviour_table, title
from saccade.inspect import ComparedSentence, Interval, Panel, Report
from saccade.language import Either, Language, either_in
from saccade.metrics import METRICS
from saccade.text.words import UnitChoice
from saccade.train.resume import flatten
from saccade.train.training_options import Training

SIGNIFICANT = 0.05  # p after the correction
_ENGLISH = either_in("en")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    plan: Plan
    pairs: EvaluationSet
    options: CompareOptions
    search: Search
    systems: Sequence[ComparedSystem]
    pairwise: tuple[PairTest, ...]
    costs: Mapping[str, Cost]
    differing: tuple[DifferingSentence, ...]
    attention: Mapping[str, Sequence[PairAttention] | str]  # on these sentences; without attention, how the model reads
    settings: Mapping[str, Mapping[str, Any]]  # system → table → key → value
    threads: int
    provenance: Mapping[str, Any]

    @property
    def metrics(self) -> list[str]:
        """The first is the main one."""
        return list(self.systems[0].scores)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, without attention weights and without the outputs that the report does not show."""
        names = ("resamples", "rounds", "shown", "device", "batch_tokens")
        return {
            "pairs": {"name": self.pairs.name, "sentences": len(self.pairs.references)},
            "unequal": list(self.plan.unequal),
            "options": {"search": asdict(self.search), **{name: getattr(self.options, name) for name in names}},
            "systems": [
                {
                    "name": system.name,
                    "scores": {name: asdict(score) for name, score in system.scores.items()},
                    "cost": asdict(self.costs[system.name]) if self.costs else None,
                    "settings": self.settings[system.name],
                    "runs": [run.to_dict() for run in system.runs],
                }
                for system in self.systems
            ],
            "pairwise": [pair.to_dict() for pair in self.pairwise],
            "differing_sentences": [asdict(sentence) for sentence in self.differing],
            "threads": self.threads,
            "provenance": dict(self.provenance),
        }

    def tables(self) -> list[Table]:
        """The tables that the command prints, each as columns and rows: scores with costs, and the pairs."""
        (columns, rows), (cost_columns, cost_rows) = _scores_table(self, _ENGLISH), _costs_table(self, _ENGLISH)
        costs = {name: cells for name, *cells in cost_rows}
        shown = [0, 1, 2, *range(3, len(columns) - 1, 2), len(columns) - 1]  # the interval of the first score alone
        summary = (
            [columns[place] for place in shown] + (cost_columns[1:] if costs else []),
            [[row[place] for place in shown] + costs.get(row[0], []) for row in rows],
        )
        return [summary, _pairs_table(self, self.metrics[:1], _ENGLISH)]

    def write_report(self, path: Path, by: UnitChoice = "auto", language: Language = "en") -> None:
        """`by` is the unit of the heatmaps."""
        either, names = either_in(language), [system.name for system in self.systems]
        report = Report(either(f"Comparison of {', '.join(names)}", f"{'、'.join(names)} 的比较"), language)
        report.text(either("What was compared", "比较了什么"), "\n\n".join(_about(self, either)))
        self._add_scores(report, either)
        self._add_breakdowns(report, either)
        if self.differing:
            report.sentences(
                either("Where they differ most", "差别最大的句子"),
                [_compare_sentence(self, place, by, language) for place in range(len(self.differing))],
                note=either(
                    f"The sentences of at most {LONGEST_SHOWN} words with the widest gap in chrF between systems, "
                    "each the mean over runs, with the output of each system's first run.",
                    f"不超过 {LONGEST_SHOWN} 个词的句子中，各系统 chrF 相差最大的几句；"
                    "chrF 取各次训练的平均，译文取自每个系统的第一次训练。",
                ),
            )
        report.table(either("Every run", "每次训练"), *_runs_table(self, either))
        differing, shared = _settings_tables(self, either)
        report.table(either("Settings in which they differ", "不同的设置"), *differing)
        folded = either(f"{len(shared[1])} settings", f"{len(shared[1])} 项设置")
        report.table(either("Settings that all share", "相同的设置"), *shared, folded=folded)
        report.provenance(either("Made by", "结果的来源"), self.provenance)
        report.save(path)

    def _add_scores(self, report: Report, either: Either) -> None:
        metric = self.metrics[0]
        scores = {system.name: system.scores[metric] for system in self.systems}
        report.intervals(
            either(f"{title(metric)} of each system", f"各系统的 {title(metric)}"),
            {name: Interval(score.mean, score.low, score.high, score.runs) for name, score in scores.items()},
            x=title(metric),
            note=either(
                "The marker is the mean over runs, each stroke a run, the bar the 95 % interval over sentences and "
                "runs.",
                "标记是各次训练的平均，每条短线是一次训练，横条是对句子和训练重新抽样得到的 95 % 区间。",
            ),
        )
        note = either("Means over runs ± the standard deviation between runs.", "各次训练的平均 ± 标准差。")
        report.table(either("Scores", "得分"), *_scores_table(self, either), note=note)
        if self.costs:
            report.table(either("Costs", "开销"), *_costs_table(self, either), note=_costs_note(self, either))
        report.table(
            either(f"Is it better? By {title(metric)}", f"是否更好？按 {title(metric)}"),
            *_pairs_table(self, self.metrics[:1], either),
            note=_significance_note(self, either),
        )
        others = either(" and ", "、").join(map(title, self.metrics[1:]))
        report.table(
            either(f"By {others}", f"按 {others}"),
            *_pairs_table(self, self.metrics[1:], either),
            folded=either(f"Every pair by {others}", f"每一对系统，按 {others}"),
        )

    def _add_breakdowns(self, report: Report, either: Either) -> None:
        metric, rows = self.metrics[0], self.systems[0].runs[0].evaluation.lengths
        filled = [place for place, row in enumerate(rows) if row.sentences]
        lines = {system.name: [system.lengths(metric)[place] for place in filled] for system in self.systems}
        note = either("Means over runs.", "各次训练的平均。")
        add_length_chart(report, metric, [rows[place] for place in filled], lines, note=note)
        behaviours = {system.name: system.behaviour() for system in self.systems}
        report.table(
            either("Behaviour", "译文的毛病"),
            *behaviour_table(behaviours, report.language),
            note=either("Means over runs; 100 % is all.", "各次训练的平均；100 % 为全部。"),
        )


def verdict(pair: PairTest, either: Either = _ENGLISH) -> str:
    """The test in words. One run does not show how much seeds vary, so it supports no claim about a system."""
    if min(pair.difference.runs) == 1:
        return either("one seed cannot tell", "只有一个随机种子，无法判断")
    if pair.corrected >= SIGNIFICANT:
        return either("no clear difference", "没有明显差异")
    is_better = (pair.difference.difference > 0) == METRICS[pair.difference.metric].higher_is_better
    better = pair.system if is_better else pair.baseline
    return either(f"{better} is better", f"{better} 更好")


def _scores_table(comparison: Comparison, either: Either) -> Table:
    """One row per system."""
    columns, rows = [either("system", "系统")], [[system.name] for system in comparison.systems]
    for metric in comparison.metrics:
        columns += [title(metric), either("95 % interval", "95 % 区间")]
        for row, system in zip(rows, comparison.systems, strict=True):
            score = system.scores[metric]
            spread = "" if score.deviation is None else f" ± {score.deviation:.1f}"
            row += [f"{score.mean:.1f}{spread}", f"{score.low:.1f} … {score.high:.1f}"]
    runs = [len(system.runs) for system in comparison.systems]
    return [*columns, either("runs", "训练次数")], [[*row, count] for row, count in zip(rows, runs, strict=True)]


def _costs_table(comparison: Comparison, either: Either) -> Table:
    """One row per system that was measured."""
    rows = [
        [name, f"{cost.parameters:,}", f"{cost.trained:,.0f}", f"{cost.translated:,.1f}", f"{cost.memory / 2**20:,.0f}"]
        for name, cost in comparison.costs.items()
    ]
    columns = either(
        "system;parameters;tokens/s trained;sentences/s translated;memory, MiB",
        "系统;参数;训练，词元/秒;翻译，句/秒;内存，MiB",
    )
    return columns.split(";"), rows


def _pairs_table(comparison: Comparison, metrics: Sequence[str], either: Either) -> Table:
    """Every pair of systems by these metrics."""
    rows: list[list[Any]] = []
    for pair in comparison.pairwise:
        tested = pair.difference
        if tested.metric in metrics:
            named = [f"{pair.system} − {pair.baseline}", *([title(tested.metric)] if len(metrics) > 1 else [])]
            interval = f"{tested.low:+.1f} … {tested.high:+.1f}"
            ps = [None if p is None else f"{p:.3f}" for p in (tested.p, pair.corrected, pair.randomised)]
            rows.append([*named, f"{tested.difference:+.1f}", interval, *ps, verdict(pair, either)])
    by = [either("pair", "系统对"), either("by", "指标")] if len(metrics) > 1 else [title(metrics[0])]
    columns = either(
        "difference;95 % interval;p;p, Holm;p, randomised;in words", "差异;95 % 区间;p;p（Holm 校正）;p（随机化）;结论"
    )
    return [*by, *columns.split(";")], rows


def _runs_table(comparison: Comparison, either: Either) -> Table:
    """One row per run: its scores, updates and time, and why it ended."""
    rows: list[list[Any]] = []
    for system in comparison.systems:
        for run in system.runs:
            result = run.training
            spent = [None] * 3 if result is None else [result.step, f"{result.seconds / 60:.1f}", result.reason]
            scores = [f"{run.evaluation.scores[metric]:.1f}" for metric in comparison.metrics]
            rows.append([system.name, either("given", "给定") if run.seed is None else str(run.seed), *scores, *spent])
    first, last = (
        either("system,seed", "系统,随机种子"),
        either("updates,minutes,ended because", "更新次数,分钟,结束原因"),
    )
    return [*first.split(","), *map(title, comparison.metrics), *last.split(",")], rows


def _settings_tables(comparison: Comparison, either: Either) -> tuple[Table, Table]:
    """The settings in which systems differ, one column per system, and the settings that all share."""
    flat = {}
    for system in comparison.systems:
        settings = flatten(comparison.settings[system.name])
        flat[system.name] = {key: "none" if value is None else str(value) for key, value in settings.items()}
    keys = dict.fromkeys(key for settings in flat.values() for key in settings)
    rows = [[key, *(settings.get(key) for settings in flat.values())] for key in keys]
    differing = [row for row in rows if len(set(row[1:])) > 1]
    shared = [row[:2] for row in rows if len(set(row[1:])) == 1]
    setting = either("setting", "设置")
    return ([setting, *flat], differing), ([setting, either("all systems", "所有系统")], shared)


def _about(comparison: Comparison, either: Either) -> list[str]:
    """Paragraphs: the data, and how the systems were trained."""
    plan, recipes = comparison.plan, comparison.plan.recipes
    count, data = len(comparison.pairs.references), comparison.pairs.name
    paragraphs = [
        either(f"{count} sentences of {data}, the same for all systems.", f"{data} 的 {count} 个句子，各系统相同。")
    ]
    if recipes:
        first = next(iter(recipes.values()))
        seeds = ", ".join(map(str, dict.fromkeys(point.seed for point in plan.points)))
        names, trained_on = ", ".join(recipes), first.data.name
        about = either(
            f"{names}: trained here on {trained_on}, with seeds {seeds}.",
            f"{names}：在此用 {trained_on} 训练，随机种子为 {seeds}。",
        )
        paragraphs.append(about + either(" ", "") + _terms(plan, first.train, either))
    if trained := ", ".join(system.name for system in plan.systems if system.folders):
        given = either(
            f"{trained}: given as trained models. It is not known whether their data and budget were equal.",
            f"{trained}：给定的已训练模型，数据与预算是否相同不得而知。",
        )
        paragraphs.append(given)
    return paragraphs


def _terms(plan: Plan, train: Training, either: Either) -> str:
    """Whether data and budget were equal."""
    if plan.unequal:
        return either(
            f"Data and budget are NOT equal: {'; '.join(plan.unequal)}.",
            f"数据或预算【不】相同：{'；'.join(plan.unequal)}。",
        )
    limits = {
        either("updates", "次更新"): train.max_steps,
        either("minutes", "分钟"): train.max_minutes,
        either("epochs", "轮"): train.max_epochs,
    }
    budget = either(", ", "，").join(f"{value:g} {unit}" for unit, value in limits.items() if value is not None)
    return either(
        f"All saw the same data for the same budget: at most {budget}, in batches of {train.tokens} tokens.",
        f"各系统的数据与预算相同：最多 {budget}，每批 {train.tokens} 个词元。",
    )


def _costs_note(comparison: Comparison, either: Either) -> str:
    cost = next(iter(comparison.costs.values()))
    rounds, beam, before = comparison.options.rounds, comparison.search.beam, f"{cost.memory_before / 2**20:,.0f}"
    return either(
        f"Measured in {rounds} rounds in which the systems took turns, each in its own process, on "
        f"{cost.device} with {plural(comparison.threads, 'thread')}; the fastest counts. Training "
        "is the forward pass, the backward pass and the update, in target tokens; translation uses a beam of "
        f"{beam}. Memory is the peak; {before} MiB of it belong to PyTorch before a model is loaded.",
        f"共测 {rounds} 轮，各系统轮流进行，每个系统用自己的进程，在 {cost.device} 上用 {comparison.threads} 个线程，"
        f"取最快的一轮。训练包括前向、反向和参数更新，按目标词元计；翻译的束宽为 {beam}。"
        f"内存是峰值，其中 {before} MiB 在载入模型之前就由 PyTorch 占用。",
    )


def _significance_note(comparison: Comparison, either: Either) -> str:
    pairs, draws = len(comparison.systems) * (len(comparison.systems) - 1) // 2, comparison.options.resamples
    note = either(
        f"p: the probability of so large a difference if there is none, by {draws} draws of "
        f"sentences and of runs. Holm: p after the correction for {plural(pairs, 'pair')}; it decides "
        "the words, at 0.05. Randomised: p by swapping outputs; it holds for these runs, not for other seeds.",
        f"p：假如没有差异，出现这么大差异的概率，由对句子和训练重新抽样 {draws} 次得到。"
        f"Holm：对 {pairs} 对系统校正后的 p，结论以 0.05 为界。"
        "随机化：交换译文得到的 p，只对这几次训练成立，不能推广到其他随机种子。",
    )
    if min(len(system.runs) for system in comparison.systems) == 1:
        note += either(
            " A single run does not show how much seeds vary: a claim about a system needs several.",
            "只有一次训练，看不出随机种子带来的波动；要评价一个系统，需要多次训练。",
        )
    return note


def _compare_sentence(comparison: Comparison, place: int, by: UnitChoice, language: Language) -> ComparedSentence:
    sentence, panels = comparison.differing[place], []
    for name, text in sentence.outputs.items():
        score, attention = f"chrF {sentence.chrf[name]:.1f}", comparison.attention[name]
        if isinstance(attention, str):
            reason = either_in(language)(
                f"No heatmap: this model has no attention. It reads the source through {attention}.",
                "未画热力图：这个模型没有注意力。",
            )
            panels.append(Panel(name=name, score=score, text=text, reason=reason))
        else:
            panels.append(Panel.of_attention(name, score, text, attention[place], by, language))
    return ComparedSentence(source=sentence.source, reference=sentence.reference, panels=panels)
