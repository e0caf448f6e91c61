"""A trained model and everything that can be done with it: one method per command."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from saccade.align.options import AlignOptions
from saccade.decode.engines.options import EngineOptions, ExportOptions
from saccade.decode.options import (
    DEFAULT_SEARCH,
    Constraints,
    EnsembleOptions,
    RerankingModels,
    RerankingOptions,
    Search,
    TooLong,
)
from saccade.decode.shortlist.options import ShortlistOptions
from saccade.errors import Bar, Progress, Say, UserError, as_bar, count_up, say
from saccade.evaluation.options import EvaluateOptions
from saccade.fast_paths import FastPath
from saccade.file_work import FileWork, load_members
from saccade.provenance import recording_call
from saccade.ranges import change_options, share_options

if TYPE_CHECKING:
    from saccade.align import AlignedPair
    from saccade.data.inputs import Pairs
    from saccade.decode import Calibration, PairScore, RerankingWeights, Translation, Translator
    from saccade.decode.engines.export import Export
    from saccade.decode.shortlist.building import MadeShortlist
    from saccade.evaluation.results import SystemsEvaluation

TEN_HYPOTHESES = DEFAULT_SEARCH.with_options(beam=10)


def load(folder: str | Path, *, device: str = "auto", trust_code: bool = False, **ensemble: Any) -> "Model":
    """Load a trained model. With `ensemble=[folder, …]`, several models translate together.

    `trust_code=True` allows the folder to run models and attentions that are defined outside Saccade.
    """
    members = change_options(EnsembleOptions(), ensemble)
    translator = load_members(Path(folder), device, trust_code=trust_code, ensemble=members)
    return Model(translator, [Path(folder), *members.ensemble], members, trusts_code=trust_code)


class Model(FileWork):
    """A trained model, or an ensemble of several. `translator` has the parts: the network, the vocabularies."""

    def __init__(
        self,
        translator: "Translator",
        folders: Sequence[Path] = (),
        ensemble: EnsembleOptions | None = None,
        *,
        trusts_code: bool = False,
    ) -> None:
        self.translator, self.folders = translator, tuple(folders)
        self._ensemble, self._trusts_code = ensemble or EnsembleOptions(), trusts_code

    def __repr__(self) -> str:
        return f"<Model {', '.join(map(str, self.folders)) or self.translator.model.__class__.__name__}>"

    def translate(
        self,
        texts: Sequence[str],
        search: Search = DEFAULT_SEARCH,
        *,
        constraints: Constraints | Sequence[Constraints | None] | None = None,
        too_long: TooLong = "split",
        batch_tokens: int | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> "list[Translation]":
        """Translate each text. A Translation has text, score, confidence, alignment, plot() and show().

        `options` are the fields of Search, Constraints, RerankingOptions and EngineOptions:
        `beam=10, n_best=3, include=["cat"], channel="fr-en", prior="fr-lm"`.
        """
        from saccade.decode.engines.choice import EngineRequest
        from saccade.decode.reranking import rerank_by

        groups = share_options(options, search, Constraints(), RerankingOptions(), EngineOptions())
        search, for_all, rerankers, engine_options = groups
        if for_all != Constraints():
            if constraints is not None:
                raise TypeError("give constraints=…, or prefix, outline, include and exclude, not both")
            constraints = for_all
        search_all = rerankers.search_all(search)
        rank = rerank_by(rerankers, self.translator, search) if rerankers.reranks else iter
        engine = self.engines.choose(EngineRequest(search_all, engine_options, isinstance(constraints, Constraints)))
        advance = count_up(progress, len(texts))
        found = self.translator.translate(
            texts,
            search_all,
            constraints=constraints,
            too_long=too_long,
            batch_tokens=batch_tokens,
            progress=advance,
            engine=engine,
        )
        return list(rank(iter(found)))

    def fast_paths(self, search: Search = DEFAULT_SEARCH, **options: Any) -> list[FastPath]:
        """The fast paths that `translate` takes with these options, and the reason where one is not taken."""
        from saccade.decode.engines.choice import EngineRequest
        from saccade.decode.explaining import search_paths

        search, constraints, engine_options = share_options(options, search, Constraints(), EngineOptions())
        constrained, translator = constraints != Constraints(), self.translator
        paths = search_paths(translator.model, translator.device, search, constrained=constrained, recorded=False)
        return [*paths, self.engines.explain(EngineRequest(search, engine_options, constrained))]

    def export(self, *, progress: Progress | None = None, **options: Any) -> "Export":
        """Write the model for another program, by default CTranslate2, and compare its translations.

        `options` are the options of `saccade export`. The folder is by default `ctranslate2` inside the model's.
        """
        from saccade.decode.engines.export import export_model

        return export_model(self.translator, self.folders, change_options(ExportOptions(), options), progress)

    def make_shortlist(
        self,
        pairs: "Pairs",
        targets: str | Path | None = None,
        *,
        progress: Progress | None = None,
        bar: Bar | None = None,
        **options: Any,
    ) -> "MadeShortlist":
        """Learn from pairs which tokens translate which, for `shortlist=True`, and save it in the model's folder.

        `options` are the options of `saccade shortlist`.
        """
        from saccade.decode.shortlist.building import make_shortlist

        chosen = change_options(ShortlistOptions(), {**options, "targets": targets})
        return make_shortlist(self.translator, self.folders, pairs, chosen, bar or as_bar(progress))

    def score(self, sources: Sequence[str], targets: Sequence[str], *, batch_tokens: int = 4096) -> "list[PairScore]":
        """Score given translations by their log-probability: in total, per token and per word."""
        from saccade.decode import score_pairs

        return list(score_pairs(self.translator, zip(sources, targets, strict=True), batch_tokens=batch_tokens))

    def calibrate(
        self,
        pairs: "Pairs",
        targets: str | Path | None = None,
        *,
        count: int = 500,
        seed: int = 1,
        search: Search = DEFAULT_SEARCH,
        batch_tokens: int | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> "Calibration":
        """Calibrate the model's confidence on pairs that it was not trained on, and save the result in its folder.

        `options` are the search options `beam` and `length_penalty`.
        """
        from saccade import config, model_folder
        from saccade.data.inputs import name_pairs
        from saccade.decode import calibrate
        from saccade.locking import locked

        if len(self.folders) != 1:
            raise UserError("confidence belongs to one model; load it alone, not as an ensemble")
        search = change_options(search, options)
        with locked(self.folders[0], folder=True):
            complete = name_pairs(pairs, targets, count=count, seed=seed).complete()
            advance = count_up(progress, len(complete))
            fitted = calibrate(self.translator, complete, search, batch_tokens=batch_tokens, progress=advance)
            model_folder.add_extra(self.folders[0], calibration=config.to_dict(fitted))
        self.translator.calibration = fitted
        return fitted

    def tune_reranking(
        self,
        pairs: "Pairs",
        targets: str | Path | None = None,
        *,
        out: str | Path | None = None,
        metric: Literal["chrf", "bleu"] = "chrf",
        count: int = 500,
        seed: int = 1,
        search: Search = TEN_HYPOTHESES,
        batch_tokens: int | None = None,
        progress: Progress | None = None,
        **options: Any,
    ) -> "RerankingWeights":
        """Tune the weights of reranking models on validation pairs, and write them to `out`.

        `options` are the options of `saccade rerank`.
        """
        from saccade.data.inputs import name_pairs
        from saccade.decode.reranking import load_reranker
        from saccade.journal import refuse_folder

        refuse_folder("out", None if out is None else Path(out))
        search, rerankers = share_options(options, search, RerankingModels())
        reranker = load_reranker(self.translator, rerankers)
        complete = name_pairs(pairs, targets, count=count, seed=seed).complete()
        sources, references = zip(*complete, strict=True)
        search, advance = replace(search, n_best=search.beam), count_up(progress, len(sources))
        translations = self.translator.translate(sources, search, batch_tokens=batch_tokens, progress=advance)
        tuned = reranker.tune(translations, references, metric)
        if out is not None:
            tuned.save(Path(out))
        return tuned

    def evaluate(self, pairs: "Pairs", targets: str | Path | None = None, **options: Any) -> "SystemsEvaluation":
        """Translate the sources and score the translations; `options` are the options of `saccade.evaluate`."""
        return evaluate(self, pairs, targets, **options)

    def align(self, sources: Sequence[str], targets: Sequence[str], **options: Any) -> "list[AlignedPair]":
        """Align the words of each source and target by the model's attention.

        `options` are the options of `saccade align`, such as `layer=1, by="word"`.
        """
        from saccade.align import Aligner, AlignmentHead

        chosen = change_options(AlignOptions(), options)
        head = AlignmentHead.from_options(chosen)
        aligner = Aligner(self.translator, head, tokenised=chosen.tokenised, by=chosen.by)
        return list(aligner.align(list(zip(sources, targets, strict=True))))


@recording_call
def evaluate(
    systems: str | Path | Model | Sequence[str | Path | Model],
    pairs: "Pairs | None" = None,
    targets: str | Path | None = None,
    *,
    search: Search = DEFAULT_SEARCH,
    progress: Progress | None = None,
    say: Say = say,
    bar: Bar | None = None,
    **options: Any,
) -> "SystemsEvaluation":
    """Score the translations of systems, and test whether the others differ significantly from the first.

    A system is a model, a model folder, or a file of translations. `options` are the options of `saccade evaluate`.
    """
    from saccade.evaluation.systems import evaluate_systems

    chosen, search = share_options({**options, "targets": targets}, EvaluateOptions(), search)
    several = [systems] if isinstance(systems, str | Path | Model) else systems
    translators = [system.translator if isinstance(system, Model) else system for system in several]
    return evaluate_systems(translators, pairs, chosen, search=search, say=say, bar=bar or as_bar(progress))
