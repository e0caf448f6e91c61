"""The language of reports, figures and studies: English or Chinese. Commands and messages stay English."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Language = Literal["en", "zh"]
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")  # the first one that is set counts


@dataclass(frozen=True)
class Bilingual:
    """A text in both languages, each written for its readers."""

    en: str
    zh: str

    def within(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en


Either = Callable[[str, str], str]  # the English or the Chinese text: either("words", "词")
Words = Bilingual | str  # a plain string is the same in both languages, such as the name of a model


def within(words: Words, language: Language) -> str:
    return words if isinstance(words, str) else words.within(language)


def either_in(language: Language) -> Either:
    return lambda en, zh: zh if language == "zh" else en


IN_ENGLISH = either_in("en")


def preferred_language(environment: Mapping[str, str] = os.environ) -> Language:
    """Chinese if the environment asks for it, as in LANG=zh_CN.UTF-8; otherwise English."""
    chosen = next((value for name in _VARIABLES if (value := environment.get(name))), "")
    return "zh" if chosen.lower().startswith("zh") else "en"
