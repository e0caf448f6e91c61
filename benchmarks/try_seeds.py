"""Run `saccade try` with several seeds, to see whether it reaches its targets, and by how much.

    python benchmarks/try_seeds.py --seeds 1 2 3
    python benchmarks/try_seeds.py --seeds 1 --out benchmarks/results/try-shown.json    # the run that the README shows
    python benchmarks/try_seeds.py --seeds 1 --to zh --out benchmarks/results/try-zh.json    # and in another language

The runs follow one another, each as a user would start it. All results are written to one JSON file.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def run(seed: int, to: str, folder: Path) -> dict[str, Any]:
    out, options = folder / f"seed-{seed}", ["--seed", str(seed), *(() if to == "fr" else ("--to", to))]
    subprocess.run([sys.executable, "-m", "saccade", "try", *options, "--out", str(out)], check=True)
    figures: dict[str, Any] = json.loads((out / "figures.json").read_text(encoding="utf-8"))
    figures["provenance"]["command"] = f"saccade try {' '.join(options)}"  # without the folder, which is gone by now
    return shorten(figures)


def shorten(figures: dict[str, Any]) -> dict[str, Any]:
    """Keep one translated sentence per range of lengths, the one that `saccade try` shows."""
    each = figures["effort"]["judged"]
    figures["test"] = figures["test"][each // 2 :: each]
    for system in figures["systems"].values():
        system["translations"] = system["translations"][each // 2 :: each]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--to", choices=["fr", "de", "zh"], default="fr")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/try.json"))
    parser.add_argument("--keep", type=Path, help="save the models and reports in this folder")
    arguments = parser.parse_args()
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        for seed in arguments.seeds:
            runs.append(run(seed, arguments.to, arguments.keep or Path(place)))
            arguments.out.parent.mkdir(parents=True, exist_ok=True)
            arguments.out.write_text(json.dumps({"runs": runs}, indent=1) + "\n", encoding="utf-8")
    for one in runs:
        said = "; ".join(f"{'met' if t['met'] else 'NOT met'} {t['claim']}: {t['reached']:.3g}" for t in one["targets"])
        print(f"seed {one['effort']['seed']} in {one['seconds']:.0f} s: {said}")


if __name__ == "__main__":
    main()
