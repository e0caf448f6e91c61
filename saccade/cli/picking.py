"""How to choose among all that a search found, as options: by minimum Bayes risk, or by what other models think."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from saccade.errors import UserError

if TYPE_CHECKING:
    from saccade.decode import Reranker, Search, Translation, Translator
    from saccade.decode.mbr import Utility

CHOICE = "Choosing among what was found"
Picker = Callable[[Iterator["Translation"]], Iterator["Translation"]]


def _option(said: str) -> Any:
    return typer.Option(help=said, rich_help_panel=CHOICE)


RightToLeft = Annotated[Path | None, _option("A model that writes from the other end.")]
Channel = Annotated[Path | None, _option("A model of the other direction: log p(source|translation).")]
Prior = Annotated[Path | None, _option("A model of targets alone, trained with one fixed source.")]
PriorSource = Annotated[str, _option("That source, with --prior.")]


class Others(NamedTuple):
    """Models that judge what another one wrote."""

    right_to_left: Path | None
    channel: Path | None
    prior: Path | None
    prior_source: str

    def reranker(self, translator: "Translator", device: str, weights: dict[str, float] | None = None) -> "Reranker":
        from saccade.decode import Reranker, load

        folders = self.right_to_left, self.channel, self.prior
        right_to_left, channel, prior = (None if one is None else load(one, device=device) for one in folders)
        return Reranker(
            translator=translator,
            right_to_left=right_to_left,
            channel=channel,
            prior=prior,
            prior_source=self.prior_source,
            weights=weights or {},
        )


def other_models(
    right_to_left: RightToLeft = None, channel: Channel = None, prior: Prior = None, prior_source: PriorSource = ""
) -> Others:
    if (prior is None) != (prior_source == ""):
        raise UserError("--prior MODEL and --prior-source TEXT, what it was trained with, go together; give both")
    return Others(right_to_left, channel, prior, prior_source)


class Picking(NamedTuple):
    mbr: str | None
    weights: Path | None
    others: Others

    def picker(self, translator: "Translator", how: "Search", device: str, chunk: int) -> Picker | None:
        """None: what the search found best. Else all that it found is ranked again, and the best of that kept."""
        reranked = self.weights is not None or any(self.others)
        if self.mbr is None and not reranked:
            return None
        if self.mbr is not None and reranked:
            raise UserError(f"--mbr {self.mbr} and other models each choose a translation; give one of them")
        if how.beam == 1:
            raise UserError("--beam 1 finds one translation, and there is nothing to choose; give --beam 10, say")

        from saccade.decode import minimise_risk

        def ranked(results: "Iterator[Translation]") -> "Iterator[Translation]":
            if self.mbr is None:
                return reranker.rerank_stream(results, chunk=chunk)
            weigh, utility = "count" if how.sample else "probability", cast("Utility", self.mbr)
            return (minimise_risk(one, utility, weigh=cast("Any", weigh)) for one in results)

        if reranked:
            weights = None if self.weights is None else read_weights(self.weights)
            reranker = self.others.reranker(translator, device, weights)
        return lambda results: (
            replace(one, alternatives=one.alternatives[: how.n_best - 1]) for one in ranked(results)
        )


def picking_options(
    mbr: Annotated[str | None, _option("Of all found, the most like the others by chrf or bleu.")] = None,
    rerank_weights: Annotated[
        Path | None, _option("What `saccade rerank` wrote, or model=1,length=0,channel=0.5; else all alike.")
    ] = None,
    right_to_left: RightToLeft = None,
    channel: Channel = None,
    prior: Prior = None,
    prior_source: PriorSource = "",
) -> Picking:
    if mbr not in (None, "chrf", "bleu"):
        raise UserError(f"--mbr {mbr}: expected chrf or bleu")
    return Picking(mbr, rerank_weights, other_models(right_to_left, channel, prior, prior_source))


def read_weights(given: Path) -> dict[str, float]:
    from saccade.decode import RerankingWeights

    if given.is_file() or "=" not in str(given):
        return RerankingWeights.load(given).weights
    try:
        pairs = (one.split("=") for one in str(given).split(","))
        return {name.strip().replace("-", "_"): float(value) for name, value in pairs}
    except ValueError:
        raise UserError(f"--rerank-weights {given}: expected a file, or such as model=1,length=0,channel=0.5") from None
