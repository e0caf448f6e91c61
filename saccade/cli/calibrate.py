"""`saccade calibrate`: fit how sure a model is, and keep that with it."""

from pathlib import Path
from typing import Annotated

import typer

from saccade.cli.console import print_table
from saccade.cli.material import Count, Pairs, Seed
from saccade.cli.searching import Beam, LengthPenalty, searching
from saccade.cli.translate import BatchTokens, Device, Model, bar, interruptible
from saccade.locking import locked

Targets = Annotated[Path | None, typer.Argument(help="The targets, where PAIRS are the sources.")]


def calibrate(
    model: Model,
    pairs: Pairs,
    targets: Targets = None,
    beam: Beam = None,
    length_penalty: LengthPenalty = 1.0,
    count: Count = 500,
    seed: Seed = 1,
    device: Device = "auto",
    batch_tokens: BatchTokens = 8192,
) -> None:
    """Fit confidence on pairs that the model was not trained on, and write it to the model's folder.

    Example: [bold]saccade calibrate my-model test.tsv[/]
    """
    how = searching(beam, length_penalty)

    from saccade import config, model_folder
    from saccade.align.pairs import open_pair_input
    from saccade.decode import load
    from saccade.decode.calibrating import calibrate
    from saccade.evaluate.evaluation_set import read_evaluation_set

    translator = load(model, device=device)
    with interruptible(), locked(model, folder=True):
        data = read_evaluation_set(open_pair_input(pairs, targets, count=count, seed=seed))
        with bar("calibrating", len(data.places)) as advance:
            found = calibrate(translator, data.pairs, how, batch_tokens=batch_tokens, progress=advance)
        model_folder.add_extra(model, calibration=config.to_dict(found))
    rows = [
        [name, f"{size:,}", *(f"{error:.4f}" for error in errors)]
        for name, size, errors in (
            ("tokens", found.tokens, found.token_error),
            ("sentences", found.sentences, found.sentence_error),
        )
    ]
    print_table(["calibration error", "of", "before", "after"], rows)
