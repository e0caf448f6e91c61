"""Evaluate systems: models, which translate here, and files of outputs.

`evaluate_systems` is what `saccade evaluate` and `Model.evaluate` call.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from saccade import files, model_folder
from saccade.align import Aligner, AlignmentHead, AlignmentScores, GoldLinks, PairAttention, score_alignments
from saccade.align.scores import score_baselines
from saccade.data import read_lines
from saccade.data.inputs import Pairs, name_pairs
from saccade.data.text_files import line_error
from saccade.decode import DEFAULT_SEARCH, Constraints, Search, Translator, load
from saccade.device import limit_threads
from saccade.errors import Say, UserError
from saccade.evaluation.behaviour import unread_words
from saccade.evaluation.breakdowns import word_counts
from saccade.evaluation.evaluation import Evaluation, choose_metrics, evaluate
from saccade.evaluation.evaluation_set import EvaluationSet, read_evaluation_gold, read_evaluation_set
from saccade.evaluation.options import EvaluateOptions
from saccade.evaluation.significance_tests import Difference, significance, significance_over_seeds
from saccade.files import parse_json
from saccade.metrics import Counts, make_metrics
from saccade.progress import Bar
from saccade.text.words import UnitChoice

WORST_SHOWN, HEATMAPS = 8, 3  # sentences in a report, and how many of them have heatmaps
System = str | Path | Translator
Run = Path | Translator


@dataclass(frozen=True, kw_only=True)
class EvaluatedRun:
    name: str
    texts: list[str]
    evaluation: Evaluation
    alignment: AlignmentScores | None = None  # of a model with attention, against gold
    attention: Sequence[PairAttention] | None = None  # on the first of the worst sentences

    def to_dict(self) -> dict[str, Any]:
        alignment = self.alignment and self.alignment.to_dict()
        return {"name": self.name, **self.evaluation.to_dict(), "alignment": alignment}


@dataclass(frozen=True, kw_only=True)
class EvaluatedSystem:
    runs: list[EvaluatedRun]  # with different seeds

    @property
    def name(self) -> str:
        return ",".join(run.name for run in self.runs)


@dataclass(frozen=True, kw_only=True)
class SystemsEvaluation:
    """Systems evaluated on the same pairs; the first is the baseline of the others."""

    data: EvaluationSet
    systems: list[EvaluatedSystem]
    differences: list[tuple[Difference, ...]]  # of every other system to the first
    baselines: dict[str, AlignmentScores]  # alignments that read nothing, where there is gold
    worst: list[int]  # places of sentences, by the sentence chrF of the first run, worst first
    sentence_scores: list[list[float]]  # sentence chrF of every run

    @property
    def runs(self) -> list[EvaluatedRun]:
        return [run for system in self.systems for run in system.runs]

    @property
    def metrics(self) -> list[str]:
        return list(self.runs[0].evaluation.scores.measured)

    def to_dict(self) -> dict[str, Any]:
        return {
            "pairs": self.data.name,
            "left_out": self.data.left_out,
            "systems": [
                {"name": system.name, "runs": [run.to_dict() for run in system.runs]} for system in self.systems
            ],
            "differences": [
                {"name": system.name, "against": self.systems[0].name, **difference.to_dict()}
                for system, differences in zip(self.systems[1:], self.differences, strict=True)
                for difference in differences
            ],
            "aligners": {name: scores.to_dict() for name, scores in self.baselines.items()},
        }

    def tables(self, *, by_length: bool = False, by_frequency: bool = False) -> list[tuple[str, Any]]:
        """The tables that the command prints: a caption, or "", with columns and rows."""
        from saccade.evaluation.tables import terminal_tables

        return terminal_tables(self, by_length=by_length, by_frequency=by_frequency)

    def signatures(self) -> list[str]:
        """How each metric was computed, in the words of sacrebleu."""
        from saccade.evaluation.tables import signatures

        return signatures(self)

    def write_report(self, path: str | Path, by: UnitChoice = "auto") -> None:
        from saccade.evaluation.report import write_report

        write_report(self, Path(path), by)


def evaluate_systems(
    systems: Sequence[System],
    pairs: Pairs | None = None,
    options: EvaluateOptions | None = None,
    *,
    search: Search = DEFAULT_SEARCH,
    say: Say | None = None,
    bar: Bar | None = None,
    **changes: Any,
) -> SystemsEvaluation:
    """Score the outputs of systems for the same pairs, and test the difference of each to the first.

    A system is a loaded model, a model folder, a file of outputs, or several runs of one system as "a,b,c". `changes`
    are fields of `EvaluateOptions`; systems in `against` follow the given ones. Writes the report of the options.
    """
    options = replace(options or EvaluateOptions(), **changes)
    if options.report is not None and not options.report.parent.is_dir():
        raise UserError(f"--report {options.report}: there is no folder {options.report.parent}")
    if options.metrics is not None:
        make_metrics(_split(options.metrics), ["a"])  # refuses a mistake or a missing extra before hours of work
    opened = None
    if pairs is not None:
        opened = name_pairs(pairs, options.targets, count=options.count, seed=options.seed)
    data = read_evaluation_set(opened, options.reference)
    gold = read_evaluation_gold(opened, data, options.gold, options.gold_base, tokenised=options.tokenised)
    evaluator = _Evaluator(data, gold, options, search, bar or (lambda *_: nullcontext(lambda _: None)))
    result = evaluator.evaluate([_runs(system) for system in (*systems, *options.against)])
    if data.left_out and say is not None:
        say(f"left out: {data.left_out} pair{'s' * (data.left_out > 1)} with a blank side")
    if options.report is not None:
        result.write_report(options.report, options.by)
    return result


class _Evaluator:
    def __init__(
        self, data: EvaluationSet, gold: list[GoldLinks] | None, options: EvaluateOptions, search: Search, bar: Bar
    ) -> None:
        self.data, self.gold, self.options, self.search, self.bar = data, gold, options, search, bar
        self.metrics = choose_metrics(data.sources) if options.metrics is None else _split(options.metrics)
        self.counts = None if options.train is None else word_counts(read_lines(options.train))
        self.constraints = self._read_constraints()
        self.longest_trained: int | None = None
        self.worst: list[int] = []

    def evaluate(self, systems: Sequence[Sequence[Run]]) -> SystemsEvaluation:
        all_runs = [run for runs in systems for run in runs]
        # One for all systems, so that their ranges of length compare.
        self.longest_trained = min((length for run in all_runs if (length := _longest_trained(run))), default=None)
        names = iter(_names(all_runs))
        evaluated = [EvaluatedSystem(runs=[self._evaluate(run, next(names)) for run in runs]) for runs in systems]
        lengths = self.data.lengths(tokenised=self.options.tokenised) if self.gold is not None else []
        return SystemsEvaluation(
            data=self.data,
            systems=evaluated,
            differences=[self._test(evaluated[0], other) for other in evaluated[1:]],
            baselines=score_baselines(self.gold, lengths) if self.gold is not None else {},
            worst=self.worst,
            sentence_scores=[self._sentence_scores(run.texts) for system in evaluated for run in system.runs],
        )

    def _evaluate(self, run: Run, name: str) -> EvaluatedRun:
        if isinstance(run, Path) and run.is_file():
            texts = self.data.read_lines(run)
            self._find_worst(texts)
            return EvaluatedRun(name=name, texts=texts, evaluation=self._measure(texts))
        translator = load(run, device=self.options.device) if isinstance(run, Path) else run
        limit_threads(translator.model)
        if not self.data.sources:
            raise UserError(f"{name}: a model needs sources to translate; give PAIRS")
        texts, unread = self._translate(translator, name)
        self._find_worst(texts)
        attention: list[PairAttention] | None = None
        if self.options.report is not None and translator.attends:
            places = self.worst[:HEATMAPS]
            attention = translator.attend([self.data.sources[place] for place in places], [texts[i] for i in places])
        return EvaluatedRun(
            name=name,
            texts=texts,
            evaluation=self._measure(texts, unread),
            alignment=self._align(translator),
            attention=attention,
        )

    def _measure(self, texts: list[str], unread: list[tuple[int, int]] | None = None) -> Evaluation:
        constraints = self.constraints
        return evaluate(
            texts,
            self.data.references,
            sources=self.data.sources or None,
            metrics=self.metrics,
            resamples=self.options.resamples,
            longest_trained=self.longest_trained,
            counts=self.counts,
            include=None if constraints is None else [phrases.include for phrases in constraints],
            exclude=None if constraints is None else [phrases.exclude for phrases in constraints],
            unread=unread,
        )

    def _find_worst(self, texts: list[str]) -> None:
        """Order the sentences by the first run's chrF, worst first; of equals, the shortest first."""
        if not self.worst:
            scores = self._sentence_scores(texts)
            lengths = [len(texts[0]) for texts in self.data.references]
            self.worst = sorted(range(len(texts)), key=lambda place: (scores[place], lengths[place]))[:WORST_SHOWN]

    def _sentence_scores(self, texts: list[str]) -> list[float]:
        return Counts(texts, self.data.references, metrics=["chrf"]).sentence_scores("chrf")

    def _translate(self, translator: Translator, name: str) -> tuple[list[str], list[tuple[int, int]] | None]:
        """The outputs, and the number of hardly read words of each source; weights are not kept."""
        texts, unread = [], []
        results = translator.translate_stream(
            self.data.sources, self.search, batch_tokens=self.options.batch_tokens, weights=translator.attends
        )
        with self.bar(f"translating by {name}", len(self.data.sources)) as advance:
            for translation in results:
                texts.append(translation.text)
                if translation.attention is not None:
                    unread.append(unread_words(translation.attention.words()))
                advance(1)
        return texts, unread if translator.attends else None

    def _align(self, translator: Translator) -> AlignmentScores | None:
        """Align the references, which the gold is about."""
        if self.gold is None or not translator.attends:
            return None
        aligner = Aligner(
            translator,
            AlignmentHead(layer=self.options.layer),
            tokenised=self.options.tokenised,
            by="word",
            batch_tokens=self.options.batch_tokens,
        )
        return score_alignments([pair.links for pair in aligner.align(self.data.pairs)], self.gold)

    def _test(self, baseline: EvaluatedSystem, system: EvaluatedSystem) -> tuple[Difference, ...]:
        """Test single runs with sacrebleu, several runs over seeds."""
        before, after = ([run.evaluation.counts for run in each.runs] for each in (baseline, system))
        if len(before) == len(after) == 1:
            return significance(before[0], after[0], test=self.options.test)
        return significance_over_seeds(before, after, test=self.options.test)

    def _read_constraints(self) -> list[Constraints] | None:
        """The phrases that each output must and must not contain; models translate without them."""
        path = self.options.constraints
        if path is None:
            return None
        constraints = []
        for number, line in enumerate(read_lines(path), 1):
            try:
                constraints.append(Constraints.from_json(parse_json(line)) if line.strip() else Constraints())
            except (ValueError, UserError) as error:
                raise line_error(path, number, str(error)) from None
        return self.data.select_lines(constraints, path)


def _split(metrics: str) -> list[str]:
    return [name.strip() for name in metrics.split(",") if name.strip()]


def _runs(system: System) -> Sequence[Run]:
    if isinstance(system, Translator):
        return [system]
    paths = files.split_paths(str(system))
    if not paths:
        raise UserError("SYSTEM is empty; expected a model folder or a file of outputs")
    return paths


def _names(runs: Sequence[Run]) -> list[str]:
    """The last part of each path, or the whole path where two would have the same name."""
    paths = dict.fromkeys(run for run in runs if isinstance(run, Path))
    last = [path.resolve().name for path in paths]
    names = {path: path.resolve().name if last.count(path.resolve().name) == 1 else str(path) for path in paths}
    return [names[run] if isinstance(run, Path) else "the model" for run in runs]


def _longest_trained(run: Run) -> int | None:
    if isinstance(run, Translator):
        return run.limits.words
    return None if run.is_file() else model_folder.load_config(run).extra.get("longest_trained")
