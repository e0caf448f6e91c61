"""A trained model and everything that can be done with it: one method per command."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from saccade.align.options import AlignOptions
from saccade.decode.file_options import EnsembleOptions, FileOptions, RerankingModels, ScoreOptions
from saccade.decode.search.options import DEFAULT_SEARCH, Constraints, Search
from saccade.errors import UserError, say
from saccade.evaluation.options import EvaluateOptions
from saccade.ranges import change_options, refuse_unknown, take_options

if TYPE_CHECKING:
    from saccade.align import AlignedPair
    from saccade.align.corpus import CorpusAlignment
    from saccade.data.inputs import Pairs
    from saccade.decode import Calibration, PairScore, RerankingWeights, Translation, Translator
    from saccade.decode.scoring import ScoreTotals
    from saccade.evaluation.systems import SystemsEvaluation

Options = TypeVar("Options")
Progress = Callable[[int, int | None], None]  # (finished, in all), where that is known
Say = Callable[[str], None]
Bar = Callable[[str, int], AbstractContextManager[Callable[[int], None]]]  # (title, total) → a function that advances
BATCH_TOKENS = 8192
SEARCH_OPTIONS = ("beam", "length_penalty")  # that other commands than `translate` have


def load(
    folder: str | Path,
    *,
    device: str = "auto",
    trust_code: bool = False,
    options: EnsembleOptions | None = None,
    **ensemble: Any,
) -> "Model":
    """Load a trained model. With `ensemble=[folder, …]`, several models translate together.

    `trust_code=True` lets the folder name models and attentions that are defined outside Saccade.
    """
    from saccade.decode.ensemble import combine
    from saccade.decode.loading import load as load_translator
    from saccade.device import limit_threads

    members = change_options(options or EnsembleOptions(), ensemble)
    folders = [Path(folder), *map(Path, members.ensemble)]
    translators = {str(place): load_translator(place, device=device, trust_code=trust_code) for place in folders}
    translator = translators[str(folders[0])]
    if len(folders) > 1:
        translator = combine(translators, average=members.average, weights=members.shares)
    limit_threads(translator.model)
    return Model(translator, folders, members)


class Model:
    """A trained model, or an ensemble of several. `translator` has the parts: the network, the vocabularies."""

    def __init__(
        self, translator: "Translator", folders: Sequence[Path] = (), ensemble: EnsembleOptions | None = None
    ) -> None:
        self.translator, self.folders = translator, tuple(folders)
        self._ensemble = ensemble or EnsembleOptions()

    def __repr__(self) -> str:
        return f"<Model {', '.join(map(str, self.folders)) or self.translator.model.__class__.__name__}>"

    def translate(
        self,
        texts: Sequence[str],
        search: Search | None = None,
        *,
        constraints: Constraints | Sequence[Constraints | None] | None = None,
        too_long: Literal["split", "split-or-refuse", "refuse", "keep"] = "split",
        batch_tokens: int = BATCH_TOKENS,
        progress: Progress | None = None,
        **options: Any,
    ) -> "list[Translation]":
        """Translate each text. A Translation has text, score, confidence, alignment, plot() and show().

        `options` are those of Search and Constraints: `beam=10, n_best=3, include=["cat"]`.
        """
        search = take_options(search or DEFAULT_SEARCH, options)
        if any(field.name in options for field in fields(Constraints)):
            if constraints is not None:
                raise TypeError("give constraints=…, or prefix, outline, include and exclude, not both")
            constraints = take_options(Constraints(), options)
        refuse_unknown(options, Search, Constraints)
        return self.translator.translate(
            texts,
            search,
            constraints=constraints,
            too_long=too_long,
            batch_tokens=batch_tokens,
            progress=_counted(progress, len(texts)),
        )

    def translate_file(
        self,
        file: str | Path = "-",
        options: FileOptions | None = None,
        *,
        search: Search | None = None,
        constraints: Constraints | None = None,
        rerankers: RerankingModels | None = None,
        lines: Iterable[str] | None = None,
        write: Callable[[str], None] = print,
        progress: Progress | None = None,
        **named: Any,
    ) -> None:
        """Translate a file, one output line per input line, to `out` or, line by line, to `write`.

        An interrupted call continues where it stopped. `named` are the options of `saccade translate`.
        """
        from saccade.decode.file_translation import translate_file

        files = take_options(options or FileOptions(), named)
        search, constraints = (
            take_options(search or DEFAULT_SEARCH, named),
            take_options(constraints or Constraints(), named),
        )
        rerankers = take_options(rerankers or RerankingModels(), named)
        refuse_unknown(named, FileOptions, Search, Constraints, RerankingModels)
        translate_file(
            self.translator,
            str(file),
            files,
            search,
            constraints,
            rerankers,
            command=self._command({"file": str(file)}, files, search, constraints, rerankers),
            lines=lines,
            write=write,
            progress=progress,
        )

    def score(self, sources: Sequence[str], targets: Sequence[str], *, batch_tokens: int = 4096) -> "list[PairScore]":
        """Score given translations: their log-probability, per token and per word, under the model."""
        from saccade.decode import score_pairs

        return list(score_pairs(self.translator, zip(sources, targets, strict=True), batch_tokens=batch_tokens))

    def score_file(
        self,
        pairs: "Pairs",
        targets: str | Path | None = None,
        options: ScoreOptions | None = None,
        *,
        count: int = 500,
        seed: int = 1,
        write: Callable[[str], None] = print,
        progress: Progress | None = None,
        **named: Any,
    ) -> "ScoreTotals":
        """Score a file of pairs, one line per pair, to `out` or, line by line, to `write`; return the totals.

        An interrupted call continues where it stopped. `named` are the options of `saccade score`.
        """
        from saccade.data.inputs import name_pairs
        from saccade.decode.file_scoring import score_file

        scoring = change_options(options or ScoreOptions(), named)
        with name_pairs(pairs, targets, count=count, seed=seed) as opened:
            command = self._command({"pairs": opened.name, "--count": count, "--seed": seed}, scoring)
            return score_file(
                self.translator, opened.pairs, opened.name, scoring, command=command, write=write, progress=progress
            )

    def calibrate(
        self,
        pairs: "Pairs",
        targets: str | Path | None = None,
        *,
        count: int = 500,
        seed: int = 1,
        search: Search | None = None,
        batch_tokens: int = BATCH_TOKENS,
        progress: Progress | None = None,
        **named: Any,
    ) -> "Calibration":
        """Fit the model's confidence on pairs that it was not trained on, and save it in the model's folder.

        `named` are the options of the search: `beam` and `length_penalty`.
        """
        from saccade import config, model_folder
        from saccade.data.inputs import name_pairs
        from saccade.decode import calibrate
        from saccade.locking import locked

        if len(self.folders) != 1:
            raise UserError("confidence belongs to one model; load it alone, not as an ensemble")
        search = change_options(search or DEFAULT_SEARCH, named)
        with locked(self.folders[0], folder=True), name_pairs(pairs, targets, count=count, seed=seed) as opened:
            complete = opened.complete()
            advance = _counted(progress, len(complete))
            fitted = calibrate(self.translator, complete, search, batch_tokens=batch_tokens, progress=advance)
            model_folder.add_extra(self.folders[0], calibration=config.to_dict(fitted))
        self.translator.calibration = fitted
        return fitted

    def tune_reranking(
        self,
        pairs: "Pairs",
        targets: str | Path | None = None,
        rerankers: RerankingModels | None = None,
        *,
        out: str | Path | None = None,
        metric: Literal["chrf", "bleu"] = "chrf",
        count: int = 500,
        seed: int = 1,
        search: Search | None = None,
        batch_tokens: int = BATCH_TOKENS,
        progress: Progress | None = None,
        **named: Any,
    ) -> "RerankingWeights":
        """Tune, on validation pairs, the weights of the models that rerank translations, and write them to `out`."""
        from saccade.data.inputs import name_pairs
        from saccade.decode.file_translation import load_reranker
        from saccade.journal import refuse_folder

        refuse_folder("out", None if out is None else Path(out))
        search = take_options(search or replace(DEFAULT_SEARCH, beam=10), named, *SEARCH_OPTIONS)
        reranker = load_reranker(self.translator, change_options(rerankers or RerankingModels(), named))
        with name_pairs(pairs, targets, count=count, seed=seed) as opened:
            sources, references = zip(*opened.complete(), strict=True)
        tuned = reranker.tune(
            self.translator.translate(
                sources,
                replace(search, n_best=search.beam),
                batch_tokens=batch_tokens,
                progress=_counted(progress, len(sources)),
            ),
            references,
            metric,
        )
        if out is not None:
            tuned.save(Path(out))
        return tuned

    def evaluate(
        self,
        pairs: "Pairs",
        targets: str | Path | None = None,
        *,
        search: Search | None = None,
        progress: Progress | None = None,
        **named: Any,
    ) -> "SystemsEvaluation":
        """Translate the sources and score the translations; `named` are the options of `saccade evaluate`."""
        from saccade.evaluation.systems import evaluate_systems

        search = take_options(search or DEFAULT_SEARCH, named, *SEARCH_OPTIONS)
        options = with_targets(EvaluateOptions(), targets, named)
        return evaluate_systems([self.translator], pairs, options, search=search, bar=as_bar(progress))

    def align(self, sources: Sequence[str], targets: Sequence[str], **named: Any) -> "list[AlignedPair]":
        """Align the words of each source and target by the model's attention.

        `named` are options of `saccade align`, such as `layer=1, by="word"`.
        """
        from saccade.align import Aligner, AlignmentHead

        options = change_options(AlignOptions(), named)
        head = AlignmentHead.from_options(options)
        aligner = Aligner(self.translator, head, tokenised=options.tokenised, by=options.by)
        return list(aligner.align(list(zip(sources, targets, strict=True))))

    def align_file(
        self,
        pairs: "Pairs",
        targets: str | Path | None = None,
        options: AlignOptions | None = None,
        *,
        out: str | Path | None = None,
        reverse: "Model | str | Path | None" = None,
        write: Callable[[str], None] = print,
        progress: Progress | None = None,
        **named: Any,
    ) -> "CorpusAlignment":
        """Align a file of pairs, one line of links per pair, to `out` or, line by line, to `write`.

        `reverse` is a model of the other direction; `named` are the options of `saccade align`.
        """
        from saccade.align.corpus import align_corpus
        from saccade.decode import load
        from saccade.journal import refuse_folder, write_file

        path = None if out is None else Path(out)
        refuse_folder("out", path)
        options = with_targets(options or AlignOptions(), targets, named)
        if isinstance(reverse, str | Path):
            reverse = Model(load(reverse, device=self.translator.device))
        with nullcontext(write) if path is None else write_file(path) as write:
            return align_corpus(
                self.translator,
                pairs,
                options,
                reverse=None if reverse is None else reverse.translator,
                write=write,
                say=say,
                bar=as_bar(progress),
            )

    def _command(self, own: Mapping[str, Any], *options: Any) -> dict[str, Any]:
        """What must be the same for an interrupted command to continue, by the flags of the command line."""
        command: dict[str, Any] = {"model": self.folders[0] if self.folders else None, **own}
        for group in (*options, self._ensemble):
            for name, value in vars(group).items():
                if name not in ("out", "restart", "heatmap", "summary"):  # which do not change the output
                    command[f"--{name.replace('_', '-').removesuffix('-file')}"] = value
        named = {name: str(value) for name in ("--plot", "--tree") if (value := command.get(name))}
        return {**command, **named, "--device": self.translator.device.type}


def as_bar(progress: Progress | None) -> Bar | None:
    """A progress callback in the form that the longer functions take."""
    if progress is None:
        return None
    return lambda label, total: nullcontext(_counted(progress, total))


def with_targets(default: Options, targets: str | Path | None, named: Mapping[str, Any]) -> Options:
    return change_options(default, named if targets is None else {**named, "targets": Path(targets)})


def _counted(progress: Progress | None, total: int) -> Callable[[int], None]:
    """From the number of texts finished since the last call to the number of all."""
    finished = 0

    def advance(more: int) -> None:
        nonlocal finished
        finished += more
        if progress is not None:
            progress(finished, total)

    return advance
