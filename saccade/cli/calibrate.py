"""`saccade calibrate`: fit a model's confidence, and save it with the model."""

from saccade.cli.console import print_table, progress_bar
from saccade.cli.options import BatchTokens, BriefSearch, Device, ModelFolder, command
from saccade.decode.options import DEFAULT_SEARCH, PairOptions
from saccade.trained_model import load


@command
def calibrate(
    model: ModelFolder,
    device: Device = "auto",
    batch_tokens: BatchTokens = None,
    *,
    pairs: PairOptions,
    search: BriefSearch = DEFAULT_SEARCH,
) -> None:
    """Calibrate a model's confidence on pairs that it was not trained on, and save the result in its folder.

    Example: [bold]saccade calibrate my-model test.tsv[/]
    """
    loaded = load(model, device=device)
    with progress_bar("calibrating") as progress:
        fitted = loaded.calibrate(**vars(pairs), search=search, batch_tokens=batch_tokens, progress=progress)
    counted = {
        "tokens": (fitted.tokens, fitted.token_error),
        "sentences": (fitted.sentences, fitted.sentence_error),
    }
    rows = [[name, f"{size:,}", *(f"{error:.4f}" for error in errors)] for name, (size, errors) in counted.items()]
    print_table(["calibration error", "of", "before", "after"], rows)
