"""`saccade rerank`: tune the weights of the models that rerank translations."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from saccade.api import DEFAULT_SEARCH, PairOptions, RerankingModels, Search, load
from saccade.cli.console import interruptible, plural, print_table, progress_bar, show
from saccade.cli.options import BatchTokens, Device, ModelFolder, Only, command

_TEN_HYPOTHESES = DEFAULT_SEARCH.with_options(beam=10)


@command
def rerank(
    model: ModelFolder,
    out: Annotated[
        Path, typer.Option(help="File for the weights, to use in `saccade translate --rerank-weights`.")
    ] = Path("weights.json"),
    metric: Annotated[Literal["chrf", "bleu"], typer.Option(help="The metric to tune for.")] = "chrf",
    device: Device = "auto",
    batch_tokens: BatchTokens = 8192,
    *,
    pairs: PairOptions,
    rerankers: RerankingModels,
    search: Annotated[Search, Only("beam", "length_penalty")] = _TEN_HYPOTHESES,
) -> None:
    """Tune the weights of reranking models on validation pairs.

    Example: [bold]saccade rerank en-fr valid.tsv --channel fr-en --out weights.json[/]
    """
    loaded = load(model, device=device)
    with interruptible(), progress_bar("translating") as progress:
        tuned = loaded.tune_reranking(
            **vars(pairs),
            rerankers=rerankers,
            out=out,
            metric=metric,
            search=search,
            batch_tokens=batch_tokens,
            progress=progress,
        )
    print_table(["model", "weight"], [[name, f"{value:g}"] for name, value in tuned.weights.items()])
    sentences = plural(tuned.sentences, "sentence")
    show(f"{metric} of {sentences}: {tuned.before:.2f} before, {tuned.after:.2f} after reranking; weights: {out}")
