"""What a translation must and must not contain."""

from dataclasses import dataclass
from typing import Annotated, Any

from saccade.errors import UserError
from saccade.ranges import Help, OptionError

GAP = "…"
_GROUP = "Required and excluded words"


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """An outline's words stand in the translation in this order, and the model writes the text at each gap (…).

    At "le … dort" it writes whole words; at "le cha…" it completes the word. "le … dort" ends in *dort*, and
    "le … dort …" may continue after it.
    """

    prefix: Annotated[str, Help("Begin the translation with exactly this text.", _GROUP)] = ""
    outline: Annotated[str, Help(f'Keep these words in order and fill each gap {GAP}: "le {GAP} dort".', _GROUP)] = ""
    include: Annotated[
        tuple[str, ...], Help("A phrase that the translation must contain; repeat the option for several.", _GROUP)
    ] = ()
    exclude: Annotated[
        tuple[str, ...], Help("A phrase that the translation must not contain; repeat the option for several.", _GROUP)
    ] = ()

    def __post_init__(self) -> None:
        if self.prefix and self.outline:
            raise OptionError(
                "prefix", f"cannot be combined with an outline; write {self.prefix + GAP!r} before the outline's rest"
            )
        if self.outline and not self.outline.replace(GAP, "").strip():
            raise OptionError("outline", f"must have words to keep, got only gaps: {self.outline!r}")
        for name in ("include", "exclude"):
            phrases = getattr(self, name)
            if isinstance(phrases, str) or not all(isinstance(phrase, str) and phrase.strip() for phrase in phrases):
                raise OptionError(name, f"takes a list of phrases, each of at least one character; got {phrases!r}")

    @property
    def required(self) -> tuple[str, ...]:
        """Every text that must be written."""
        return tuple(filter(None, (self.prefix, self.outline, *self.include)))

    @classmethod
    def from_json(cls, value: Any) -> "Constraints":
        """Constraints from a parsed JSON object."""
        kinds = {"prefix": str, "outline": str, "include": list, "exclude": list}
        if not isinstance(value, dict) or not value.keys() <= kinds.keys():
            raise UserError(f"expected an object with some of {', '.join(kinds)}; got {str(value)[:60]}")
        for name, item in value.items():
            if not isinstance(item, kinds[name]):
                expected = "a text" if kinds[name] is str else "a list of texts"
                raise UserError(f"{name}: expected {expected}; got {item!r}")
        try:
            fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in value.items()}
            return cls(**fields)
        except OptionError as error:
            raise UserError(str(error)) from None
