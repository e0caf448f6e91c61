"""`saccade calibrate`: fit a model's confidence, and save it with the model."""

from typing import Annotated

from saccade.api import DEFAULT_SEARCH, PairOptions, Search, load
from saccade.cli.console import interruptible, print_table, progress_bar
from saccade.cli.options import BatchTokens, Device, ModelFolder, Only, command


@command
def calibrate(
    model: ModelFolder,
    device: Device = "auto",
    batch_tokens: BatchTokens = 8192,
    *,
    pairs: PairOptions,
    search: Annotated[Search, Only("beam", "length_penalty")] = DEFAULT_SEARCH,
) -> None:
    """Calibrate a model's confidence on pairs that it was not trained on, and save the result in its folder.

    Example: [bold]saccade calibrate my-model test.tsv[/]
    """
    loaded = load(model, device=device)
    with interruptible(), progress_bar("calibrating") as progress:
        fitted = loaded.calibrate(**vars(pairs), search=search, batch_tokens=batch_tokens, progress=progress)
    rows = [
        [name, f"{size:,}", *(f"{error:.4f}" for error in errors)]
        for name, size, errors in (
            ("tokens", fitted.tokens, fitted.token_error),
            ("sentences", fitted.sentences, fitted.sentence_error),
        )
    ]
    print_table(["calibration error", "of", "before", "after"], rows)
