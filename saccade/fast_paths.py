"""Fast paths: each has a plain path that gives the same results, and a reason wherever the plain one is taken."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FastPath:
    name: str
    reason: str | None = None  # why it is not taken; None: it is taken

    def __str__(self) -> str:
        return f"{self.name}: {'yes' if self.reason is None else f'no, {self.reason}'}"
