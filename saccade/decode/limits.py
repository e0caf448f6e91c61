"""How long a source a model can be expected to read, and what is done with a longer one.

Nothing is ever cut off: a longer text is read whole all the same, or sentence by sentence, or refused.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from saccade.attention import Learned
from saccade.attention.scores import LocationOnly
from saccade.decode.constraints import Constraints
from saccade.errors import UserError
from saccade.models.contract import Seq2Seq
from saccade.text import Vocabularies, words
from saccade.text.sentences import split_sentences

TooLong = Literal["keep", "split", "split-or-refuse", "refuse"]
"""Keep it whole; translate each of its sentences by itself, and keep one that is still too long whole, with a note, or
refuse it; refuse it at once."""


class Excess(NamedTuple):
    size: str
    limit: str

    def __str__(self) -> str:
        return f"{self.size}, more than the {self.limit}"


@dataclass(frozen=True, kw_only=True)
class Limits:
    words: int | None = None  # of the longest source that was trained on
    pieces: int | None = None  # places, the end's among them, that a model with learned positions has

    @classmethod
    def of_model(cls, model: "Seq2Seq[object, object]", *, words: int | None = None) -> "Limits":
        """What it learnt of every place is all that it knows of places."""
        places = [part.table.num_embeddings for part in model.modules() if isinstance(part, Learned)]
        places += [part.weight.shape[-1] for part in model.modules() if isinstance(part, LocationOnly)]
        return cls(words=words, pieces=min(places, default=None))

    def over(self, text: str, vocabularies: Vocabularies) -> Excess | None:
        """By how much a text is too long; None: it is not."""
        read = vocabularies.mask(text).text
        count = len(words(vocabularies.source.split_tag(read)[1]))
        if self.words is not None and count > self.words:
            return Excess(f"{count} words", f"{self.words} of the longest text that the model was trained on")
        if self.pieces is not None and (count := len(vocabularies.source.encode(read)) + 1) > self.pieces:
            return Excess(f"{count} pieces with the end", f"{self.pieces} that the model has places for")
        return None


class Cut(NamedTuple):
    """The parts in which a text is to be translated; one, if it is whole."""

    parts: list[str]
    note: str | None = None  # what was done with it
    refused: str | None = None  # why it may not be translated


def cut(
    text: str, too_long: TooLong, limits: Limits, vocabularies: Vocabularies, constraints: Constraints | None = None
) -> Cut:
    """A tag before the text is put before each part."""
    if too_long not in get_args(TooLong):
        raise UserError(f"too_long must be {', '.join(get_args(TooLong))}; got {too_long!r}")
    if too_long == "keep" or (excess := limits.over(text, vocabularies)) is None:
        return Cut([text])
    if too_long == "refuse":
        return Cut([text], refused=str(excess))
    tag, rest = vocabularies.source.split_tag(text)
    found = [f"{tag} {sentence}" if tag else sentence for sentence in split_sentences(rest)]
    why_whole = "it has no sentence ends to cut it at"
    if constraints not in (None, Constraints()):
        found, why_whole = [text], "its constraints are of the whole"
    still = next(filter(None, (limits.over(part, vocabularies) for part in found)), None)
    if len(found) == 1:
        refused = f"{excess}; {why_whole}" if too_long == "split-or-refuse" else None
        return Cut([text], note=f"{excess}; translated whole: {why_whole}", refused=refused)
    if still is not None and too_long == "split-or-refuse":
        return Cut([text], refused=f"{excess}; a sentence of it still has {still.size}")
    too_long_still = "" if still is None else f", one of which still has {still.size}"
    return Cut(found, note=f"{excess}; translated in {len(found)} parts{too_long_still}")
