"""`saccade rerank`: tune the weights by which `saccade translate` chooses with the help of other models."""

from pathlib import Path
from typing import Annotated, cast

import typer

from saccade.cli.console import print_table, show
from saccade.cli.material import Count, Pairs, Seed
from saccade.cli.picking import Others, other_models
from saccade.cli.searching import Beam, LengthPenalty, searching, takes
from saccade.cli.translate import BatchTokens, Device, Model, bar, interruptible
from saccade.errors import UserError

Targets = Annotated[Path | None, typer.Argument(help="The targets, where PAIRS are the sources.")]
Out = Annotated[Path, typer.Option(help="Write the weights here, for translate --rerank-weights.")]
Metric = Annotated[str, typer.Option(help="What to tune for: chrf or bleu.")]


@takes(others=other_models)
def rerank(
    model: Model,
    pairs: Pairs,
    targets: Targets = None,
    out: Out = Path("weights.json"),
    metric: Metric = "chrf",
    beam: Beam = 10,
    length_penalty: LengthPenalty = 1.0,
    count: Count = 500,
    seed: Seed = 1,
    device: Device = "auto",
    batch_tokens: BatchTokens = 8192,
    *,
    others: Others,
) -> None:
    """Tune, on validation pairs, how much the models that rerank translations count.

    Example: [bold]saccade rerank en-fr valid.tsv --channel fr-en --out weights.json[/]
    """
    if metric not in ("chrf", "bleu"):
        raise UserError(f"--metric {metric}: expected chrf or bleu")
    if out.is_dir():
        raise UserError(f"--out {out}: a folder; expected the name of a file")
    width = beam or 10
    how = searching(width, length_penalty, n_best=width)

    from typing import Literal

    from saccade.align.pairs import open_pair_input
    from saccade.decode import load
    from saccade.evaluate.evaluation_set import read_evaluation_set

    translator = load(model, device=device)
    reranker = others.reranker(translator, device)
    with interruptible():
        data = read_evaluation_set(open_pair_input(pairs, targets, count=count, seed=seed))
        with bar("translating", len(data.places)) as advance:
            sources, references = zip(*data.pairs, strict=True)
            found = translator.translate(sources, how, batch_tokens=batch_tokens, progress=advance)
        tuned = reranker.tune(found, references, cast(Literal["chrf", "bleu"], metric))
    tuned.save(out)
    print_table(["weight of", ""], [[name, f"{value:g}"] for name, value in tuned.weights.items()])
    show(f"{metric} of {tuned.sentences} sentences: {tuned.before:.2f} as found, {tuned.after:.2f} reranked; {out}")
