"""From a text to a language model in a folder: n-grams, which are counted, or a network, which is trained."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from saccade import config
from saccade.data.counting import LEFT_OUT, CountedText, count_words
from saccade.data.text_files import is_read_once
from saccade.data.texts import TextFiles
from saccade.errors import Say, UserError, say
from saccade.lm.loading import load
from saccade.lm.network_model import NetworkModel
from saccade.lm.options import NGRAMS, LanguageTraining, Unit
from saccade.lm.recipe import TextFacts, choose_recipe
from saccade.locking import locked
from saccade.ngrams.chen1998 import UNKNOWN, estimate
from saccade.ngrams.ngram_model import SPECIAL, NgramConfig, NgramModel, text_splitter
from saccade.provenance import provenance, recording_call
from saccade.ranges import change_options
from saccade.text import Kind
from saccade.train.distributed import join_workers
from saccade.train.log import Log
from saccade.train.loop import Outcome
from saccade.train.recipe import Recipe
from saccade.train.request import list_settings, parse_budget
from saccade.train.resume import recipe_to_resume
from saccade.train.run import claim_folder, refuse_used_folder
from saccade.train.translation import train as train_network

_ORDER, _MOST_WORDS = 5, 1_000_000
_KINDS: dict[Unit | None, Kind] = {"word": "word", "char": "char", "subword": "unigram"}  # of a vocabulary


@recording_call
def train(
    text: str | Path,
    *,
    settings: Mapping[str, Any] | Sequence[str] = (),
    log: Log | None = None,
    **options: Any,
) -> NgramModel | NetworkModel:
    """Learn a language model from a text with one sentence per line, save it, and load it.

    `options` are the options of `saccade lm train`: `out="en-lm", order=3`, or `model="radford2018", budget="10m"`.
    """
    options |= {"settings": list_settings(settings)}
    chosen = change_options(LanguageTraining(text=str(text)), options)
    result = train_language_model(chosen, log=log)
    if isinstance(result, NgramModel):
        return result
    if result.diverged:
        raise result.error()
    if not result.finished:
        raise UserError(f"{result.folder}: {result.reason}; call train(…, resume=True) to continue")
    return load(result.folder)


def train_language_model(options: LanguageTraining, *, log: Log | None = None, say: Say = say) -> NgramModel | Outcome:
    """Count n-grams → the model; or train a network → how the run ended."""
    if options.model == NGRAMS:
        return _count(options)
    out = options.folder
    with join_workers() as workers, claim_folder(workers, out):
        recipe = workers.broadcast(lambda: _plan(options, out, say))
        return train_network(recipe, out, resume=options.resume, log=log, explain=options.explain)


def _plan(options: LanguageTraining, out: Path, say: Say) -> Recipe:
    """The recipe of the run to resume, or one chosen for the text."""
    if options.resume:
        requested = config.override(_requested(options), [*options.settings, *_limits(options)])
        return recipe_to_resume(out, requested, "--set")
    refuse_used_folder(out)
    if is_read_once(options.text):
        out.mkdir(parents=True, exist_ok=True)
        options = replace(options, text=str(TextFiles(options.text).buffered_in(out).source))
    chosen = choose_recipe(options, TextFacts.of(options.text), cuda=torch.cuda.is_available())
    for reason in chosen.reasons:
        say(reason)
    return chosen.recipe


def _requested(options: LanguageTraining) -> dict[str, Any]:
    """What the command sets, as tables of a recipe."""
    vocabulary = {"kind": _KINDS.get(options.unit), "size": options.vocabulary, "lower": options.lower or None}
    data: dict[str, Any] = {"pairs": options.text, "block": options.block, "valid": options.valid}
    given = {key: value for key, value in data.items() if value is not None}
    if chosen := {key: value for key, value in vocabulary.items() if value is not None}:
        given["vocabulary"] = chosen
    return {"data": given, "model": {"name": options.model}}


def _limits(options: LanguageTraining) -> list[str]:
    budget = {} if options.budget is None else parse_budget(options.budget)
    return [f"train.{key}={value}" for key, value in budget.items()]


def _count(options: LanguageTraining) -> NgramModel:
    out = options.folder
    with locked(out, folder=True):
        refuse_used_folder(out)
        unit: Literal["word", "char"] = "char" if options.unit == "char" else "word"
        order, most = options.order or _ORDER, options.most_words or _MOST_WORDS
        settings = NgramConfig(order=order, unit=unit, lower=options.lower, tokenised=options.tokenised)
        text = count_words(options.text, text_splitter(settings), most=most)
        if not len(text.ids):
            raise UserError(f"{text.name}: no words; expected a text, one sentence per line")
        ids = np.where(text.ids == LEFT_OUT, UNKNOWN, text.ids + len(SPECIAL)).astype(np.int64)
        sentences = [sentence for sentence in np.split(ids, np.cumsum(text.lengths)[:-1]) if len(sentence)]
        ngrams = estimate(sentences, len(text.words) + len(SPECIAL), order)
        model = NgramModel(ngrams, text.words, replace(settings, order=ngrams.order))
        model.save(out, _card(text, model))
        return model


def _card(text: CountedText, model: NgramModel) -> str:
    made, order = provenance(None), model.ngrams.order
    units = "words" if model.settings.unit == "word" else "characters"
    return f"""# {order}-grams of {text.name}

Chen, Goodman (1998): *An Empirical Study of Smoothing Techniques for Language Modeling*.

- {model.ngrams.size:,} n-grams of up to {order} {units}
- {len(text.ids):,} {units}, {len(text.words):,} of them different
- SHA-256 of the text: {text.digest}

```bash
{made["command"]}
```

{made["date"]}, commit {made["commit"]}.

```python
import saccade
saccade.lm.load("this folder").score(["..."]).perplexity
```
"""
