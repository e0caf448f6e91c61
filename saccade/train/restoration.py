"""What is shown of a model that is pre-trained: its card, and a corrupted text that it restores."""

from typing import Any

from saccade import config
from saccade.data import Corpus
from saccade.data.batching import pad_sources
from saccade.data.corruption import MASK, Corruption
from saccade.decode.options import Search
from saccade.decode.search.loop import run_search
from saccade.decode.translator import Translator
from saccade.model_folder import PRETRAINED

USAGE = 'import saccade\nsaccade.fit("pairs.tsv", init_from="this folder", out="my-model").translate(["..."])'
_FIRST = 1, 1, 0  # seed, epoch and window of the validations
_TELLING, _TRIED = 8, 100  # tokens of a text to show, and texts among which to look for it


def describe(noise: Corruption) -> str:
    return (
        f"Pre-trained on texts alone: it restores corrupted texts ({noise.objective}, {noise.hidden_share:.0%} of the "
        "tokens hidden) and does not translate. Training on pairs starts from it: `saccade train PAIRS --init-from "
        "THIS_FOLDER`."
    )


def extra_values(noise: Corruption) -> dict[str, Any]:
    return {PRETRAINED: config.to_dict(noise)}


def show_restoration(translator: Translator, corpus: Corpus, noise: Corruption) -> str | None:
    """The first corrupted text of some length, in which ⁇ is a mask, and what the model writes for it."""
    window, tokeniser = noise(corpus.window(*_FIRST), *_FIRST), translator.vocabularies.target
    first = (window.source(place) for place in range(min(_TRIED, len(corpus))))
    texts = [text for text in first if MASK in text]
    if not texts:
        return None
    corrupted = next((text for text in texts if len(text) >= _TELLING), texts[0])

    def run(places: list[int]) -> list[list[int]]:
        source, readable = (rows.to(translator.device) for rows in pad_sources([corrupted]))
        return [[*best.tokens] for best, *_ in run_search(translator.model, source, readable, Search())]

    ((_, (written,)),) = translator.map_batches([len(corrupted) + 1], 1, run)
    return f"{tokeniser.decode(corrupted.tolist())} → {tokeniser.decode(written)}"
