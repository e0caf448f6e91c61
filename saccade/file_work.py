"""What a trained model does with whole files: the methods behind the commands that read and write them."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saccade.decode.cluster.options import ClusterOptions
from saccade.decode.engines.options import EngineOptions
from saccade.decode.options import (
    DEFAULT_SEARCH,
    Constraints,
    EnsembleOptions,
    FileOptions,
    RerankingOptions,
    ScoreOptions,
)
from saccade.errors import Progress, UserError, as_bar, say
from saccade.names import trusts_code
from saccade.ranges import change_options, share_options

if TYPE_CHECKING:
    from saccade.align.corpus import CorpusAlignment
    from saccade.data.inputs import Pairs
    from saccade.decode import Translator
    from saccade.decode.engines.choice import EngineChoice
    from saccade.decode.scoring import ScoreTotals

_WITHOUT_EFFECT = ("out", "restart", "heatmap", "summary", "explain")  # options that do not change the output


def load_members(folder: Path, device: str, *, trust_code: bool, ensemble: EnsembleOptions) -> "Translator":
    """The model of a folder, or an ensemble of it and others."""
    from saccade.decode.ensemble import combine
    from saccade.decode.loading import load_translator
    from saccade.device import limit_threads
    from saccade.model_folder import PRETRAINED, load_config

    folders = [folder, *ensemble.ensemble]
    translators = {str(place): load_translator(place, device=device, trust_code=trust_code) for place in folders}
    for name in translators:
        if PRETRAINED in load_config(Path(name)).extra:
            say(
                f"{name}: pre-trained on texts, so it restores its input and does not translate; train it on pairs: "
                f"saccade train PAIRS --init-from {name}"
            )
    translator = translators[str(folder)]
    if len(folders) > 1:
        translator = combine(translators, average=ensemble.average, weights=ensemble.shares)
    limit_threads(translator.model)
    return translator


class FileWork:
    translator: "Translator"
    folders: tuple[Path, ...]
    _ensemble: EnsembleOptions
    _trusts_code: bool

    def translate_file(
        self,
        file: str | Path = "-",
        *,
        lines: Iterable[str] | None = None,
        write: Callable[[str], None] = print,
        progress: Progress | None = None,
        **options: Any,
    ) -> None:
        """Translate a file, one output line per input line. Lines go to the file `out` or to the function `write`.

        An interrupted call continues where it stopped. `options` are the options of `saccade translate`. `lines`, typed
        one by one, replace the file.
        """
        from saccade.decode.engines.choice import EngineRequest, installed_version
        from saccade.decode.file_translation import translate_file

        groups = share_options(
            options, FileOptions(), DEFAULT_SEARCH, Constraints(), RerankingOptions(), EngineOptions()
        )
        request = EngineRequest.for_file(*groups)
        if groups[0].explain:
            say(f"saccade: {self.engines.explain(request)}")
        engine = self.engines.choose(request)
        command = self._command({"file": str(file)}, *groups)
        command["the version of CTranslate2"] = installed_version()  # which translates or not, as it is there or not
        translate_file(
            self.translator,
            str(file),
            *groups[:4],
            command=command,
            lines=lines,
            write=write,
            progress=progress,
            engine=engine,
        )

    @cached_property
    def engines(self) -> "EngineChoice":
        """What can search for translations: PyTorch, or CTranslate2 where it finds the same."""
        from saccade.decode.engines.choice import EngineChoice

        return EngineChoice(self.translator, self.folders)

    def translate_corpus(
        self, file: str | Path, *, device: str = "auto", progress: Progress | None = None, **options: Any
    ) -> None:
        """Translate a file of texts, JSON objects or a Parquet table on Ray, as `saccade translate --ray` does.

        Workers load the model again, on `device`; this one can be on a CPU. An interrupted call continues where it
        stopped. `options` are the options of `saccade translate`: `out="s3://bucket/out.txt", replicas=8`.
        """
        from saccade.decode.cluster.corpus_translation import absolute_paths, translate_corpus
        from saccade.decode.engines.choice import installed_version

        if not self.folders:
            raise UserError(
                "the model is in memory only; save it, since the workers of a cluster load it from its folder"
            )
        defaults = FileOptions(), DEFAULT_SEARCH, Constraints(), RerankingOptions(), EngineOptions()
        *groups, cluster = share_options(options, *defaults, ClusterOptions(ray=True))
        chosen, search, constraints, rerankers, engine = (absolute_paths(group) for group in groups)
        ensemble, folders = absolute_paths(self._ensemble), tuple(folder.absolute() for folder in self.folders)
        command = self._command({}, chosen, search, constraints, rerankers, engine)
        translate_corpus(
            self.translator,
            str(file),
            chosen,
            search,
            constraints,
            rerankers,
            engine,
            cluster,
            device=device,
            folders=folders,
            load=partial(load_members, folders[0], trust_code=self._trusts_code, ensemble=ensemble),
            trusts_code=self._trusts_code or trusts_code(),
            command={
                **command,
                "model": folders[0],
                "--ensemble": ensemble.ensemble,
                "the version of CTranslate2": installed_version(),
            },
            progress=progress,
        )

    def score_file(
        self,
        pairs: "Pairs",
        targets: str | Path | None = None,
        *,
        count: int = 500,
        seed: int = 1,
        write: Callable[[str], None] = print,
        progress: Progress | None = None,
        **options: Any,
    ) -> "ScoreTotals":
        """Score a file of pairs and return the totals. One line per pair goes to the file `out` or to `write`.

        An interrupted call continues where it stopped. `options` are the options of `saccade score`.
        """
        from saccade.data.inputs import name_pairs
        from saccade.decode.scoring import score_file

        scoring = change_options(ScoreOptions(), options)
        opened = name_pairs(pairs, targets, count=count, seed=seed)
        command = self._command({"pairs": opened.name, "--count": count, "--seed": seed}, scoring)
        return score_file(
            self.translator, opened.pairs, opened.name, scoring, command=command, write=write, progress=progress
        )

    def align_file(
        self,
        pairs: "Pairs",
        targets: str | Path | None = None,
        *,
        out: str | Path | None = None,
        reverse: "FileWork | str | Path | None" = None,
        write: Callable[[str], None] = print,
        progress: Progress | None = None,
        **options: Any,
    ) -> "CorpusAlignment":
        """Align a file of pairs. One line of links per pair goes to the file `out` or to the function `write`.

        `reverse` is a model for the reverse direction; `options` are the options of `saccade align`.
        """
        from saccade.align.corpus import align_file
        from saccade.decode import load

        if isinstance(reverse, str | Path):
            other: Translator | None = load(reverse, device=self.translator.device)
        else:
            other = None if reverse is None else reverse.translator
        return align_file(
            self.translator, pairs, targets, out=out, reverse=other, write=write, bar=as_bar(progress), **options
        )

    def _command(self, inputs: Mapping[str, Any], *options: Any) -> dict[str, Any]:
        """What must be the same for an interrupted command to continue, by the flags of the command line."""
        command: dict[str, Any] = {"model": self.folders[0] if self.folders else None, **inputs}
        for group in (*options, self._ensemble):
            for name, value in vars(group).items():
                if name not in _WITHOUT_EFFECT:
                    command[f"--{name.replace('_', '-').removesuffix('-file')}"] = value
        named = {name: str(value) for name in ("--plot", "--tree") if (value := command.get(name))}
        return {**command, **named, "--device": self.translator.device.type}
