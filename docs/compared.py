"""Tables generated from benchmarks/results/compare-phrasebook.json, made by `saccade compare`, for docs/tables.py."""

import json
from functools import cache
from statistics import fmean
from typing import Any

from measured import RESULTS, table


@cache
def _comparison() -> dict[str, Any]:
    comparison: dict[str, Any] = json.loads((RESULTS / "compare-phrasebook.json").read_text(encoding="utf-8"))
    return comparison


def scores() -> str:
    """One row per system."""
    rows = []
    for system in _comparison()["systems"]:
        cells = [f"{one['mean']:.1f} ± {one['deviation']:.1f}" for one in system["scores"].values()]
        cost = system["cost"]
        paid = [f"{cost['parameters']:,}", f"{cost['trained']:,.0f}", f"{cost['translated']:.1f}"]
        rows.append([f"`{system['name']}`", *cells, *paid, f"{cost['memory'] / 2**20:,.0f}"])
    head = ["system", "BLEU", "chrF", "exact", "parameters", "tokens/s trained", "sentences/s", "memory, MiB"]
    made, first, data = _comparison()["provenance"], _comparison()["systems"][0], _comparison()["pairs"]
    seeds = ", ".join(str(run["seed"]) for run in first["runs"])
    place = (
        f"{data['sentences']} sentences of {data['name']}; seeds {seeds}. One thread of "
        f"{made['machine']['cpu']}; the systems took turns in the speed measurements. "
        f"torch {made['versions']['torch']}, {made['date'][:10]}."
    )
    return table(head, rows, right=True) + f"\n\n{place}"


def pairs() -> str:
    """One row per pair of systems, by BLEU."""
    rows = [
        [
            f"`{one['system']}` − `{one['baseline']}`",
            f"{one['difference']:+.1f}",
            f"{one['low']:+.1f} … {one['high']:+.1f}",
            *(f"{one[key]:.3f}" for key in ("p", "p_holm", "p_randomisation")),
        ]
        for one in _comparison()["pairwise"]
        if one["metric"] == "bleu"
    ]
    return table(["BLEU", "difference", "95 % interval", "p", "p, Holm", "p, randomised"], rows, right=True)


def lengths() -> str:
    """BLEU by source length, means over seeds."""
    systems = _comparison()["systems"]
    rows = []
    for place, row in enumerate(systems[0]["runs"][0]["by_length"]):
        if row["sentences"]:
            cells = [f"{fmean(run['by_length'][place]['bleu'] for run in one['runs']):.1f}" for one in systems]
            seen = "longer than training" if row["beyond_training"] else "as in training"
            rows.append([row["words"], seen, *cells, str(row["sentences"])])
    return table(["source words", "", *(f"`{one['name']}`" for one in systems), "sentences"], rows, right=True)
