"""The model card: what was trained on what, how, and how good it is."""

import shlex
import sys
from typing import Any

from saccade.models import Seq2Seq
from saccade.provenance import provenance
from saccade.train.dataset import Dataset
from saccade.train.recipe import Recipe


def card(recipe: Recipe, model: Seq2Seq[Any, Any], dataset: Dataset, best: dict[str, Any], seconds: float) -> str:
    made = provenance(seed=recipe.train.seed, command=shlex.join(["saccade", *sys.argv[1:]]))
    about = model.paper
    scores = "\n".join(f"| {name} | {_number(value)} |" for name, value in best.items() if value is not None)
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    notes = "\n".join(f"- {note}" for note in dataset.notes)
    return f"""# {recipe.model} on {recipe.data.name}

{about.authors} ({about.year}): *{about.title}*. {sum(p.numel() for p in model.parameters()):,} parameters.

| on the validation set | |
|---|---|
{scores}

## Data

{notes}

## How

```bash
{made["command"]}
```

Seed {recipe.train.seed}, {seconds / 60:.1f} minutes, {made["date"]}, commit {made["commit"]}; {versions}.
`recipe.toml` beside this file has every setting.

## Use

```python
import saccade
saccade.load("this folder").translate(["..."])
```
"""


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
