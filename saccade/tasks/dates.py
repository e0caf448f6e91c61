"""`dates`: dates as people write them in many languages and scripts, by the Unicode CLDR (the package `babel`), to
ISO 8601: `lundi 3 avril 2017` to `2017-04-03`.

- Days of 1900 to 2099, in the Gregorian calendar, with the month and weekday names, the order, the punctuation and the
  figures (٣, ३, ৩, ၃) of the locale. A form is one of the locale's patterns: full, long, medium, short, and those for
  its numeric and abbreviated dates with and without the weekday. All locales are equally likely, then all their forms.
- A year of two digits is one of 1970 to 2069; other years have four.
- Invisible direction marks are left out and every space is a plain one, as people type them.
- Tags: an ambiguous text begins with its locale, `<en_US> 3/4/17`, `<de_DE> 03.04.17`. In figures only, every date is
  ambiguous unless it begins with the year in four digits. A form with a name has a tag if the same text means another
  order or another month in another locale, `<en_US> Mon, 4/3/2017`.
- A split owns days: no day of the test split occurs in training, in any language.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cached_property, lru_cache
from itertools import chain, groupby
from random import Random
from typing import TYPE_CHECKING

from saccade.tasks.drawing import Lengths, Pair, RuleTask, count_words, missing_package

if TYPE_CHECKING:
    from babel import Locale

# Locales with another calendar for everyday use (Thailand, Iran) are left out.
LOCALES = (
    *("af_ZA", "am_ET", "ar_EG", "ar_MA", "bg_BG", "bn_BD", "ca_ES", "cs_CZ", "cy_GB", "da_DK", "de_DE", "el_GR"),
    *("en_CA", "en_GB", "en_US", "es_ES", "et_EE", "eu_ES", "fi_FI", "fr_FR", "he_IL", "hi_IN", "hr_HR", "hu_HU"),
    *("hy_AM", "id_ID", "is_IS", "it_IT", "ja_JP", "ka_GE", "ko_KR", "lt_LT", "lv_LV", "mr_IN", "my_MM", "nb_NO"),
    *("nl_NL", "pl_PL", "pt_BR", "ro_RO", "ru_RU", "sv_SE", "ta_IN", "tr_TR", "uk_UA", "ur_PK", "vi_VN", "zh_CN"),
)
_STYLES = ("full", "long", "medium", "short")
_SKELETONS = ("yMd", "yMEd", "yMMMd", "yMMMEd", "yMMMMd")
_ZEROS = {"latn": "0", "arab": "٠", "beng": "০", "deva": "०", "mymr": "၀"}  # in CLDR's numbering systems
_CLEAN = {0x200E: None, 0x200F: None, 0x061C: None, 0x00A0: " ", 0x202F: " ", 0x2009: " "}
_YEARS, _SHORT_YEARS = (1900, 2099), (1970, 2069)


class Dates(RuleTask):
    name, sources, words = "dates", "dates", (1, 20)  # all of them; a tag counts
    summary = f"dates as they are written in {len(LOCALES)} locales to ISO 8601"
    origin, packages, joint = "the Unicode CLDR (Unicode-3.0), by babel (BSD-3-Clause)", "babel", False

    def draw(self, random: Random, words: Lengths, belongs: Callable[[str], bool]) -> Pair | None:
        locales = forms()
        locale = locales[int(random.random() * len(locales))]
        form = locale[int(random.random() * len(locale))]
        first, last = _SHORT_YEARS if form.short_year else _YEARS
        start = date(first, 1, 1)
        day = start + timedelta(days=int(random.random() * (date(last + 1, 1, 1) - start).days))
        if not belongs(day.isoformat()):
            return None
        text = form.write(day)
        return Pair(source=text, target=day.isoformat()) if words[0] <= count_words(text) <= words[1] else None


@dataclass(frozen=True, kw_only=True)
class Form:
    """One way of writing a date: a pattern of a locale."""

    name: str
    locale: "Locale"
    pattern: str
    tagged: bool = False

    @cached_property
    def short_year(self) -> bool:
        return "yyy" not in self.pattern and "yy" in self.pattern

    @cached_property
    def _characters(self) -> dict[int, str | None]:
        zero = ord(_ZEROS[self.locale.default_numbering_system])
        return _CLEAN | {ord("0") + digit: chr(zero + digit) for digit in range(10)}

    def write(self, day: date) -> str:
        from babel.dates import format_date

        text = format_date(day, self.pattern, self.locale).translate(self._characters)
        return f"<{self.name}> {text}" if self.tagged else text

    def looks(self) -> set[tuple[str, str]]:
        """For every month and weekday: the text with its numbers masked, and its reading: the order of its parts, and
        the month if it has a name. A text in figures only is reduced to which of them has four digits."""
        from babel.dates import format_date

        parts = re.findall(r"y+|[ML]+|d+", re.sub(r"'[^']*'", "", self.pattern))
        order = "".join(part[0] for part in parts).replace("L", "M")
        month = next(part for part in parts if part[0] in "ML")
        looks = set()
        for day in (date(2001, 1 + i // 7, 1 + i % 7) for i in range(12 * 7)):
            look = re.sub(r"\d+", lambda number: "0000" if len(number[0]) == 4 else "0", self.write(day))
            if not re.search(r"[^\W\d]", look):
                look = re.sub(r"\D+", " ", look).strip()
            in_figures = re.search(r"\d", format_date(day, month, self.locale))
            looks.add((look, order if in_figures else f"{order} {day.month}"))
        return looks


@lru_cache(1)
def forms() -> tuple[tuple[Form, ...], ...]:
    """The forms of each locale, with a tag where another locale has a form that looks the same."""
    looks = {form: form.looks() for name in LOCALES for form in _patterns(name)}
    readings: dict[str, set[str]] = defaultdict(set)
    for look, reading in chain.from_iterable(looks.values()):
        readings[look].add(reading)
    tagged = [replace(form, tagged=any(len(readings[look]) > 1 for look, _ in seen)) for form, seen in looks.items()]
    return tuple(tuple(of_locale) for _, of_locale in groupby(tagged, key=lambda form: form.name))


def _patterns(name: str) -> list[Form]:
    try:
        from babel import Locale
    except ModuleNotFoundError:
        raise missing_package("dates", "babel") from None
    locale = Locale.parse(name)
    skeletons = locale.datetime_skeletons
    patterns = [locale.date_formats[style].pattern for style in _STYLES]
    patterns += [skeletons[skeleton].pattern for skeleton in _SKELETONS if skeleton in skeletons]
    return [Form(name=name, locale=locale, pattern=pattern) for pattern in dict.fromkeys(patterns)]
