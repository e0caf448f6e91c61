"""What a translation must and must not contain."""

from dataclasses import dataclass
from typing import Any

from saccade.errors import UserError

GAP = "…"


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """`outline` keeps its words in their order and lets the model write where … stands: "le … dort" is completed by
    whole words, "le cha…" goes on with the word. "le … dort" ends in *dort*; "le … dort …" may go on."""

    prefix: str = ""  # the text begins with exactly this
    outline: str = ""
    include: tuple[str, ...] = ()  # phrases that must stand in the text
    exclude: tuple[str, ...] = ()  # phrases that must not

    def __post_init__(self) -> None:
        if self.prefix and self.outline:
            raise UserError(
                f"a prefix and an outline were given; write {self.prefix + GAP!r} before the outline's rest"
            )
        if self.outline and not self.outline.replace(GAP, "").strip():
            raise UserError(f"an outline of gaps alone, {self.outline!r}, asks for nothing; give words to keep")
        for name in ("include", "exclude"):
            given = getattr(self, name)
            if isinstance(given, str) or not all(isinstance(phrase, str) and phrase.strip() for phrase in given):
                raise UserError(f"{name} takes a list of phrases, each of at least one character; got {given!r}")

    @property
    def asked(self) -> tuple[str, ...]:
        """All that must be written."""
        return tuple(filter(None, (self.prefix, self.outline, *self.include)))

    @classmethod
    def of_dict(cls, given: Any) -> "Constraints":
        """From JSON."""
        known = {"prefix": str, "outline": str, "include": list, "exclude": list}
        if not isinstance(given, dict) or not given.keys() <= known.keys():
            raise UserError(f"expected an object with some of {', '.join(known)}; got {str(given)[:60]}")
        for name, value in given.items():
            if not isinstance(value, known[name]):
                raise UserError(
                    f"{name}: expected {'a text' if known[name] is str else 'a list of texts'}; got {value!r}"
                )
        fields: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}
        return cls(**fields)
