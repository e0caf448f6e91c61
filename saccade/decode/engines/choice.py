"""Which engine searches for translations, and why."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from saccade.decode.engines.comparison import LEAST_IDENTICAL, read_comparison
from saccade.decode.engines.conversion import why_not_exported
from saccade.decode.engines.engine import CTranslate2Engine
from saccade.decode.engines.options import EngineOptions
from saccade.decode.options import Constraints, FileOptions, RerankingOptions, Search
from saccade.decode.translator import Translator
from saccade.errors import UserError
from saccade.fast_paths import FastPath
from saccade.models.contract import Seq2Seq

LEAST_VERSION = (4, 8, 1)  # earlier ones can be made to write outside of their memory by a model file
_INSTALL = "pip install 'saccade[ctranslate2]'"


class EngineRequest(NamedTuple):
    """What is to be searched, and how."""

    search: Search
    options: EngineOptions
    constrained: bool = False  # by words that every translation must or must not have
    recorded: bool = False  # the search tree

    @classmethod
    def for_file(
        cls,
        file_options: FileOptions,
        search: Search,
        constraints: Constraints,
        rerankers: RerankingOptions,
        options: EngineOptions,
    ) -> "EngineRequest":
        """The request of `saccade translate` with these options."""
        search = rerankers.search_all(search)
        return cls(search, options, constraints != Constraints(), file_options.tree is not None)


class EngineChoice:
    """The engine of one translator. It is made when it is first needed, and again when the weights have changed."""

    def __init__(self, translator: Translator, folders: Sequence[Path] = ()) -> None:
        self._translator, self._folders = translator, folders
        self._made: tuple[object, CTranslate2Engine] | None = None

    def explain(self, request: EngineRequest) -> FastPath:
        """Whether CTranslate2 searches, or why not."""
        reason = self._why_not(request.search, request.options)
        if reason is None and request.recorded:
            reason = "CTranslate2 does not record the search tree"
        if reason is None and request.constrained:
            reason = "CTranslate2 has no constraints on words"
        return FastPath("CTranslate2", reason)

    def choose(self, request: EngineRequest) -> CTranslate2Engine | None:
        """The engine; None for our own search. An engine that was requested and cannot be used is an error."""
        path, options = self.explain(request), request.options
        if path.reason is None:
            return self._engine(options.int8)
        if options.engine == "ctranslate2" or options.int8:
            given = "--int8" if options.int8 else "--engine ctranslate2"
            raise UserError(f"{given}: {path.reason}; leave the option out to translate with PyTorch")
        return None

    def _why_not(self, search: Search, options: EngineOptions) -> str | None:
        if options.engine == "torch":
            return "--engine torch was given"
        if self._translator.device.type != "cpu":
            return f"the model is on {self._translator.device.type}, not on the CPU"
        reason = why_not_exported(self._translator.model) or why_not_searched(search, self._translator.model)
        if reason is None:
            reason = why_not_installed()
        if reason is None and options.engine == "auto" and not options.int8:
            reason = self._why_not_alike(search)
        return reason

    def _why_not_alike(self, search: Search) -> str | None:
        """Why its translations would not be the same, which is for the user to accept."""
        if search.n_best > 1:
            return "its second and later translations often differ; --engine ctranslate2 accepts that"
        compared = read_comparison(self._folders[0]) if len(self._folders) == 1 else None
        if compared is None or compared.identical is None or compared.identical >= LEAST_IDENTICAL:
            return None
        return (
            f"only {compared.identical:.1%} of its translations were identical when the model was exported, and "
            f"{LEAST_IDENTICAL:.0%} are needed; --engine ctranslate2 accepts that"
        )

    def _engine(self, int8: bool) -> CTranslate2Engine:
        model: Any = self._translator.model
        key = int8, _version_of_weights(model)
        if self._made is None or self._made[0] != key:
            self._made = None  # two need not be in memory at once
            self._made = key, CTranslate2Engine(model, self._translator.vocabularies, int8=int8)
        return self._made[1]


def installed_version() -> str | None:
    try:
        return version("ctranslate2")
    except PackageNotFoundError:
        return None


def why_not_installed() -> str | None:
    installed = installed_version()
    if installed is None:
        return f"the package ctranslate2 is not installed: {_INSTALL}"
    if tuple(map(int, installed.split(".")[:3])) < LEAST_VERSION:
        return f"ctranslate2 {installed} is older than {'.'.join(map(str, LEAST_VERSION))}: {_INSTALL}"
    return None


def why_not_searched(search: Search, model: Seq2Seq[Any, Any]) -> str | None:
    """The reason why CTranslate2 cannot search like this, or None if it can."""
    lacking: dict[str, bool] = {
        "sampling depends on CTranslate2's own random numbers": search.sample,
        "CTranslate2 has no diverse beam": search.groups > 1,
        # Its own lists are those of a batch, so that a translation would depend on the lines beside it.
        "CTranslate2 has no shortlist for each sentence": search.shortlist,
        f"CTranslate2 calculates in fp32, not in {search.precision}": search.precision not in ("auto", "fp32"),
        "CTranslate2 computes coverage from other attention": search.coverage_penalty > 0,
        # It removes a forbidden token before it normalises, which makes the others more probable; ours stay the same.
        "CTranslate2 scores a text with --no-repeat differently": search.no_repeat is not None,
        "CTranslate2 scores a text with --shortest differently": search.shortest > 0 or search.shortest_ratio > 0,
        "a beam of CTranslate2 needs a vocabulary twice as large": 2 * search.beam > model.target_size,
    }
    return next((reason for reason, applies in lacking.items() if applies), None)


def _version_of_weights(model: Seq2Seq[Any, Any]) -> object:
    """Changes when a parameter is replaced, or changed in place."""
    return tuple((parameter.data_ptr(), parameter._version) for parameter in model.parameters())
