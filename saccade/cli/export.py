"""`saccade export`: a model for another program."""

from saccade.cli.console import progress_bar, show
from saccade.cli.options import ModelFolder, command
from saccade.decode.engines.options import ExportOptions
from saccade.trained_model import load


@command
def export(model: ModelFolder, *, options: ExportOptions) -> None:
    """Write a model for another program, by default CTranslate2, and compare its translations with those of PyTorch.

    Example: [bold]saccade export my-model --to ctranslate2[/]
    """
    with progress_bar("comparing") as progress:
        written = load(model, device="cpu").export(**vars(options), progress=progress)
    show(str(written))
