"""Evaluate systems: models, which translate here, and files of outputs.

`evaluate_systems` is what `saccade evaluate` and `Model.evaluate` call.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from saccade import files, model_folder
from saccade.align import Aligner, AlignmentHead, AlignmentScores, GoldLinks, PairAttention, score_alignments
from saccade.align.aligner import BATCH_TOKENS
from saccade.align.scores import score_baselines
from saccade.data import read_lines
from saccade.data.inputs import Pairs, name_pairs
from saccade.data.text_files import line_error
from saccade.decode import DEFAULT_SEARCH, Constraints, Search, Translator, load
from saccade.device import limit_threads
from saccade.errors import Bar, Say, UserError, as_bar
from saccade.evaluation.breakdowns import word_counts
from saccade.evaluation.evaluation import Evaluation, choose_metrics, evaluate, unread_words
from saccade.evaluation.evaluation_set import EvaluationSet, count_words, read_evaluation_gold, read_evaluation_set
from saccade.evaluation.options import EvaluateOptions
from saccade.evaluation.results import EvaluatedRun, EvaluatedSystem, SystemsEvaluation
from saccade.evaluation.significance_tests import Difference, significance, significance_over_seeds
from saccade.files import parse_json
from saccade.language import preferred_language
from saccade.metrics import make_metrics

WORST_SHOWN, HEATMAPS = 8, 3  # sentences in a report, and how many of them have heatmaps
System = str | Path | Translator
Run = Path | Translator


def evaluate_systems(
    systems: Sequence[System],
    pairs: Pairs | None,
    options: EvaluateOptions,
    *,
    search: Search = DEFAULT_SEARCH,
    say: Say = lambda _: None,
    bar: Bar | None = None,
) -> SystemsEvaluation:
    """Score the outputs of systems for the same pairs, and test the difference of each to the first.

    A system is a loaded model, a model folder, a file of outputs, or several runs of one system as "a,b,c"; systems in
    `options.against` follow the given ones. Writes the report of the options.
    """
    if options.report is not None and not options.report.parent.is_dir():
        raise UserError(f"--report {options.report}: there is no folder {options.report.parent}")
    if options.metrics is not None:
        make_metrics(options.metric_names, ["a"])  # refuses a mistake or a missing extra before hours of work
    opened = None
    if pairs is not None:
        opened = name_pairs(pairs, options.targets, count=options.count, seed=options.seed)
    data = read_evaluation_set(opened, options.reference)
    gold = read_evaluation_gold(opened, data, options.gold, options.gold_base, tokenised=options.tokenised)
    runs = [_split_runs(system) for system in (*systems, *options.against)]
    evaluator = _Evaluator(data, gold, options, search, bar or as_bar(None), _make_measure(data, options, runs))
    result = evaluator.evaluate(runs)
    data.report_left_out(say)
    if options.report is not None:
        result.write_report(options.report, options.by, options.lang or preferred_language())
    return result


def _make_measure(
    data: EvaluationSet, options: EvaluateOptions, systems: Sequence[Sequence[Run]]
) -> Callable[..., Evaluation]:
    """Evaluate outputs alike for all systems."""
    models = [run for runs in systems for run in runs if not (isinstance(run, Path) and run.is_file())]
    constraints = None if options.constraints is None else _read_constraints(data, options.constraints)
    return partial(
        evaluate,
        references=data.references,
        sources=data.sources or None,
        metrics=choose_metrics(data.sources) if options.metrics is None else options.metric_names,
        resamples=options.resamples,
        longest_trained=shortest_training(models),
        counts=None if options.train is None else word_counts(read_lines(options.train)),
        include=None if constraints is None else [phrases.include for phrases in constraints],
        exclude=None if constraints is None else [phrases.exclude for phrases in constraints],
    )


@dataclass
class _Evaluator:
    data: EvaluationSet
    gold: list[GoldLinks] | None
    options: EvaluateOptions
    search: Search
    bar: Bar
    measure: Callable[..., Evaluation]
    worst: list[int] = field(default_factory=list)

    def evaluate(self, systems: Sequence[Sequence[Run]]) -> SystemsEvaluation:
        names, evaluated = iter(_name_runs([run for runs in systems for run in runs])), []
        for runs in systems:
            results = [self._evaluate(run, next(names)) for run in runs]
            evaluated.append(EvaluatedSystem(name=",".join(run.name for run in results), runs=results))
        baselines = {}
        if self.gold is not None:
            baselines = score_baselines(self.gold, count_words(self.data.pairs, tokenised=self.options.tokenised))
        differences = [self._test(evaluated[0], other) for other in evaluated[1:]]
        return SystemsEvaluation(self.data, evaluated, differences, baselines, self.worst)

    def _evaluate(self, run: Run, name: str) -> EvaluatedRun:
        if isinstance(run, Path) and run.is_file():
            evaluation = self.measure(self.data.read_lines(run))
            self._find_worst(evaluation)
            return EvaluatedRun(name=name, evaluation=evaluation)
        translator = load(run, device=self.options.device) if isinstance(run, Path) else run
        limit_threads(translator.model)
        if not self.data.sources:
            raise UserError(f"{name}: a model needs sources to translate; give PAIRS")
        texts, unread = self._translate(translator, name)
        evaluation = self.measure(texts, unread=unread)
        self._find_worst(evaluation)
        attention: Sequence[PairAttention] = ()
        if self.options.report is not None and translator.attends:
            shown = self.worst[:HEATMAPS]
            attention = translator.attend([self.data.sources[i] for i in shown], [texts[i] for i in shown])
        return EvaluatedRun(name=name, evaluation=evaluation, alignment=self._align(translator), attention=attention)

    def _find_worst(self, evaluation: Evaluation) -> None:
        """Order the sentences by the first run's chrF, worst first; of equals, the shortest first."""
        if not self.worst:
            lengths = [len(texts[0]) for texts in self.data.references]
            order = sorted(zip(evaluation.sentence_chrf, lengths, range(len(lengths)), strict=True))
            self.worst = [place for _, _, place in order[:WORST_SHOWN]]

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
        head, tokens = AlignmentHead(layer=self.options.layer), self.options.batch_tokens or BATCH_TOKENS
        aligner = Aligner(translator, head, tokenised=self.options.tokenised, by="word", batch_tokens=tokens)
        return score_alignments([pair.links for pair in aligner.align(self.data.pairs)], self.gold)

    def _test(self, baseline: EvaluatedSystem, system: EvaluatedSystem) -> tuple[Difference, ...]:
        """Test single runs with sacrebleu, several runs over seeds."""
        if len(baseline.runs) == len(system.runs) == 1:
            return significance(*baseline.counts, *system.counts, test=self.options.test)
        return significance_over_seeds(baseline.counts, system.counts, test=self.options.test)


def _read_constraints(data: EvaluationSet, path: Path) -> list[Constraints]:
    """The phrases that each output must and must not contain; models translate without them."""
    constraints = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            constraints.append(Constraints.from_json(parse_json(line)) if line.strip() else Constraints())
        except (ValueError, UserError) as error:
            raise line_error(path, number, str(error)) from None
    return data.select(constraints, path)


def _split_runs(system: System) -> Sequence[Run]:
    if isinstance(system, Translator):
        return [system]
    paths = files.split_paths(str(system))
    if not paths:
        raise UserError("SYSTEM is empty; expected a model folder or a file of outputs")
    return paths


def _name_runs(runs: Sequence[Run]) -> list[str]:
    """The last part of each path, or the whole path where two would have the same name."""
    last = {run: run.resolve().name for run in runs if isinstance(run, Path)}
    names = {path: name if list(last.values()).count(name) == 1 else str(path) for path, name in last.items()}
    return [names[run] if isinstance(run, Path) else "the model" for run in runs]


def shortest_training(models: Iterable[Run]) -> int | None:
    """The smallest of the longest sources, in words, that the models were trained on. One for all, so that their ranges
    of length compare."""
    lengths = [
        model.limits.words
        if isinstance(model, Translator)
        else model_folder.load_config(model).extra.get("longest_trained")
        for model in models
    ]
    return min((length for length in lengths if isinstance(length, int) and length), default=None)
