"""`saccade rerank`: tune the weights of the models that rerank translations."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from saccade.cli.console import plural, print_table, progress_bar, show
from saccade.cli.options import BatchTokens, BriefSearch, Device, ModelFolder, command
from saccade.decode.options import PairOptions, RerankingModels
from saccade.trained_model import TEN_HYPOTHESES, load

Out = Annotated[Path, typer.Option(help="File for the weights, to use in `saccade translate --rerank-weights`.")]


@command
def rerank(
    model: ModelFolder,
    out: Out = Path("weights.json"),
    metric: Annotated[Literal["chrf", "bleu"], typer.Option(help="The metric to tune for.")] = "chrf",
    device: Device = "auto",
    batch_tokens: BatchTokens = None,
    *,
    pairs: PairOptions,
    rerankers: RerankingModels,
    search: BriefSearch = TEN_HYPOTHESES,
) -> None:
    """Tune the weights of reranking models on validation pairs.

    Example: [bold]saccade rerank en-fr valid.tsv --channel fr-en --out weights.json[/]
    """
    loaded, options = load(model, device=device), {**vars(pairs), **vars(rerankers)}
    with progress_bar("translating") as progress:
        tuned = loaded.tune_reranking(
            out=out, metric=metric, search=search, batch_tokens=batch_tokens, progress=progress, **options
        )
    print_table(["model", "weight"], [[name, f"{value:g}"] for name, value in tuned.weights.items()])
    sentences = plural(tuned.sentences, "sentence")
    show(f"{metric} of {sentences}: {tuned.before:.2f} before, {tuned.after:.2f} after reranking; weights: {out}")
