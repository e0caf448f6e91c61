"""`saccade score`: the probability of given translations under a model."""

from saccade.cli.console import plural, progress_bar, put, say
from saccade.cli.options import Device, ModelFolder, command
from saccade.decode.options import EnsembleOptions, PairOptions, ScoreOptions
from saccade.trained_model import load


@command
def score(
    model: ModelFolder,
    device: Device = "auto",
    *,
    pairs: PairOptions,
    options: ScoreOptions,
    ensemble: EnsembleOptions,
) -> None:
    """Score given translations by their log-probability: one line per pair, and the totals at the end.

    Example: [bold]saccade score my-model pairs.tsv --jsonl --out scores.jsonl[/]
    """
    loaded = load(model, device=device, **vars(ensemble))
    with progress_bar("scoring", hidden=options.out is None) as progress:
        totals = loaded.score_file(write=put, progress=progress, **vars(pairs), **vars(options))
    say(
        f"{plural(totals.pairs, 'pair')}, {plural(totals.pieces, 'token')} with end symbols: log-probability "
        f"{totals.log_prob:.4f}, perplexity {totals.perplexity:.4f} per token, {totals.word_perplexity:.4f} per word"
    )
