"""Export a model for CTranslate2, and compare its translations with those of PyTorch."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from saccade import files, model_folder
from saccade.decode.engines.choice import why_not_installed
from saccade.decode.engines.comparison import FOLDER, ExportRecord, share_identical, sources_to_compare
from saccade.decode.engines.conversion import why_not_exported
from saccade.decode.engines.engine import CTranslate2Engine, write_model
from saccade.decode.engines.options import ExportOptions
from saccade.decode.translator import Translator
from saccade.errors import Progress, UserError, count_up, plural
from saccade.locking import locked


@dataclass(frozen=True, kw_only=True)
class Export:
    """An exported model: its folder, and what is recorded there."""

    folder: Path
    record: ExportRecord

    def __str__(self) -> str:
        if self.record.identical is None:
            return f"{self.folder}: written; to compare it with PyTorch, give a file of sources by --compare"
        compared = f"{self.record.identical:.1%} of {plural(self.record.sentences, 'translation')}"
        return f"{self.folder}: written; {compared} are identical to those of PyTorch"


def export_model(
    translator: Translator, folders: Sequence[Path], options: ExportOptions, progress: Progress | None = None
) -> Export:
    """Write all of the export, or nothing."""
    model: Any = translator.model
    if (reason := why_not_exported(model)) is not None:
        raise UserError(f"the model cannot be exported to CTranslate2: {reason}; `saccade translate` runs it as it is")
    if (reason := why_not_installed()) is not None:
        raise UserError(f"--to {options.to}: {reason}")
    if options.out is None and len(folders) != 1:
        raise UserError("this model has no folder of its own; give out=…, the folder to write")
    # A model folder may be somebody else's: a link in it would lead the export elsewhere.
    out = files.path_inside(folders[0], FOLDER) if options.out is None else options.out
    files.refuse_links(out)
    sources = sources_to_compare(options.compare, folders)
    with locked(out, folder=True):
        ours = translator.translate(sources, progress=count_up(progress, 2 * len(sources)))
        engine = CTranslate2Engine(model, translator.vocabularies, int8=options.int8)
        theirs = translator.translate(sources, engine=engine)
        record = ExportRecord(
            model_sha256=model_folder.digest_weights(model.state_dict()),
            ctranslate2=version("ctranslate2"),
            int8=options.int8,
            sentences=len(sources),
            identical=share_identical([each.text for each in ours], [each.text for each in theirs]),
        )
        with files.atomic_folder(out) as new:
            write_model(new, model, translator.vocabularies, int8=options.int8)
            translator.vocabularies.save(new)
            record.write(new)
    return Export(folder=out, record=record)
