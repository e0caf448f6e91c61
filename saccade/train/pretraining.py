"""Pre-training: from texts to a model that restores them, from which training on pairs starts (`--init-from`).

Until batches are cut, this is training on pairs: a text is a pair of two equal sides, so the recipe is chosen by the
rules for pairs (`train/automatic.py`), and the loop is the same. This module loads no torch.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from saccade import config
from saccade.data.corruption import Restoring
from saccade.data.sources import TextPair
from saccade.data.text_files import is_read_once
from saccade.errors import Progress, Say, UserError, say
from saccade.ranges import Checked, Help, OptionError, option
from saccade.train.request import parse_budget

if TYPE_CHECKING:
    from saccade.train.data_options import Data
    from saccade.train.facts import Facts
    from saccade.train.loop import Outcome
    from saccade.train.recipe import Recipe

_MODEL = "vaswani2017"
_SMOOTHING = 0.7  # α of Liu and others (2020, mBART): a text of n lines is learnt as often as one of n^α


@dataclass(frozen=True, kw_only=True)
class PretrainingRequest(Checked):
    texts: Annotated[
        tuple[str, ...],
        Help("Texts, one sentence per line: files, also .gz and .xz.", metavar="TEXT...", argument=True),
    ]
    pairs: str | None = option(
        None, "Pairs to train on later: both sides are further texts, so that the vocabulary has both languages."
    )
    out: Path | None = option(None, "Folder for the model (default: runs/NAME-pretrained).")
    objective: Restoring | None = option(
        None, "What to hide: spans, each by one mask (denoise, the default), or one long fragment (masked)."
    )
    model: str | None = option(None, f"An encoder-decoder that `saccade models` lists (default: {_MODEL}).")
    valid: str | None = option(None, "A validation text; by default, some of the texts are held out.")
    budget: str | None = option(
        None, "When to stop: after a time (10m, 2h), a number of updates (5000) or of epochs (20 epochs)."
    )
    settings: tuple[str, ...] = option(
        (),
        "Change a setting of the recipe, such as data.noise.share=0.4. Can be repeated.",
        metavar="KEY=VALUE",
        flags=("--set",),
    )
    resume: bool = option(False, "Continue the interrupted run in the --out folder.")
    explain: bool = option(False, "List the fast paths, and why one is not taken.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.texts:
            raise OptionError("texts", "are missing; expected at least one file with one sentence per line")
        for text in (*self.texts, *([self.pairs] if self.pairs else []), *([self.valid] if self.valid else [])):
            if is_read_once(text):
                raise UserError(f"{text}: can be read only once, but pre-training reads a text again; put it in a file")

    @property
    def folder(self) -> Path:
        return Path("runs") / f"{Path(self.texts[0]).name.split('.')[0]}-pretrained" if self.out is None else self.out

    @property
    def corpora(self) -> list[dict[str, Any]]:
        sides = [{"pairs": str(self.pairs), "side": side} for side in ("source", "target")] if self.pairs else []
        return [*({"pairs": text} for text in self.texts), *sides]

    def overrides(self) -> Iterator[str]:
        """The options as settings of a recipe, KEY=VALUE."""
        options = {"model.name": self.model, "data.valid": self.valid, "data.noise.objective": self.objective}
        yield from (f"{key}={json.dumps(str(value))}" for key, value in options.items() if value is not None)
        yield from self.settings
        if self.budget is not None:
            yield from (f"train.{key}={value}" for key, value in parse_budget(self.budget).items())


def pretrain_model(request: PretrainingRequest, *, progress: Progress | None = None) -> "Outcome":
    """Plan the recipe, print the reasons for what was chosen automatically, and train it."""
    from saccade.train.distributed import join_workers
    from saccade.train.run import claim_folder
    from saccade.train.translation import train

    out = request.folder
    observe = None if progress is None else lambda state, translator: progress(state.step, None)
    with join_workers() as workers, claim_folder(workers, out):
        recipe = workers.broadcast(lambda: plan_pretraining(request))
        return train(recipe, out, resume=request.resume, observe=observe, explain=request.explain)


def plan_pretraining(request: PretrainingRequest, say: Say = say) -> "Recipe":
    """The recipe of the run to resume, or one chosen for the texts; with the request's settings."""
    from saccade.train.automatic import choose_recipe
    from saccade.train.data_options import Data
    from saccade.train.resume import recipe_to_resume
    from saccade.train.run import refuse_used_folder
    from saccade.train.training_options import Training

    if not request.resume:
        refuse_used_folder(request.folder)
    settings = [*request.overrides()]
    tables = config.override({"data": {"corpora": request.corpora, "contents": "text", "noise": {}}}, settings)
    data = config.from_dict(Data, tables["data"], "--set", "data")
    facts, lines = _read(data)
    weights = [round((max(lines) / count) ** (1 - _SMOOTHING), 2) for count in lines]
    corpora = [replace(corpus, weight=weight) for corpus, weight in zip(data.corpora, weights, strict=True)]
    data = replace(data, corpora=tuple(corpora))
    if request.resume:
        tables["data"]["corpora"] = config.to_dict(data)["corpora"]
        return recipe_to_resume(request.folder, tables, "--set")
    limits = config.from_dict(Training, tables.get("train", {}), "--set", "train")
    if limits.device != "auto":
        facts = replace(facts, cuda=limits.device.startswith("cuda"))
    model, minutes = request.model or _MODEL, limits.max_minutes
    recipe, reasons = choose_recipe(data, facts, model, minutes=minutes, updates=limits.max_steps, settings=settings)
    for reason in reasons:
        say(reason)
    return recipe


def _read(data: "Data") -> tuple["Facts", list[int]]:
    """Facts about all texts together, from the first lines of each, and the lines of each."""
    from saccade.train.dataset import FIRST_PAIRS
    from saccade.train.facts import Facts

    first, lines = list[TextPair](), list[int]()
    for corpus in data.corpora:
        texts = iter(corpus.open(data.form))
        start = [*islice(texts, max(1, FIRST_PAIRS // len(data.corpora)))]
        first += start
        lines.append(len(start) + sum(1 for _ in texts))
    return replace(Facts.of(first, count=sum(lines)), texts=True), lines
