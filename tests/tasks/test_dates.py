import re
import sys
import unicodedata
from collections import defaultdict
from datetime import date
from itertools import chain

import pytest

from saccade.errors import UserError
from saccade.tasks import Dates
from saccade.tasks.dates import LOCALES, forms
from saccade.text import words

DAY = date(2017, 4, 3)  # a Monday


def written(locale: str, day: date = DAY) -> list[str]:
    (locale_forms,) = (locale_forms for locale_forms in forms() if locale_forms[0].name == locale)
    return [form.write(day) for form in locale_forms]


@pytest.mark.parametrize(
    ("locale", "expected"),
    [
        ("en_US", ["Monday, April 3, 2017", "Apr 3, 2017", "<en_US> 4/3/17", "<en_US> Mon, 4/3/2017"]),
        ("en_GB", ["3 April 2017", "<en_GB> 03/04/2017"]),
        ("de_DE", ["Montag, 3. April 2017", "<de_DE> 03.04.17"]),
        ("fr_FR", ["lundi 3 avril 2017"]),
        ("es_ES", ["lunes, 3 de abril de 2017", "<es_ES> 3/4/17"]),
        ("hu_HU", ["2017. április 3., hétfő", "2017. 04. 03."]),
        ("sv_SE", ["måndag 3 april 2017", "2017-04-03"]),
        ("el_GR", ["Δευτέρα 3 Απριλίου 2017"]),
        ("ru_RU", ["понедельник, 3 апреля 2017 г."]),
        ("he_IL", ["יום שני, 3 באפריל 2017"]),
        ("ar_EG", ["٣ أبريل ٢٠١٧", "<ar_EG> ٠٣/٠٤/٢٠١٧"]),
        ("bn_BD", ["৩ এপ্রিল, ২০১৭"]),
        ("mr_IN", ["सोमवार, ३ एप्रिल, २०१७"]),
        ("zh_CN", ["2017年4月3日星期一", "2017/4/3"]),
        ("ko_KR", ["2017년 4월 3일", "<ko_KR> 17. 4. 3."]),
    ],
)
def test_dates_are_written_as_in_their_locale(locale: str, expected: list[str]) -> None:
    assert set(expected) <= set(written(locale))


def test_more_than_forty_locales_and_many_scripts() -> None:
    assert len(LOCALES) == len(set(LOCALES)) == len(forms()) >= 40
    by_script = defaultdict(set)
    for locale in LOCALES:
        for character in "".join(written(locale)):
            if character.isalpha():
                by_script[unicodedata.name(character).split()[0]].add(locale)
    assert len(by_script) >= 12
    right_to_left = by_script["ARABIC"] | by_script["HEBREW"]
    assert len(right_to_left) >= 4
    assert (
        len({unicodedata.name(c) for locale in LOCALES for c in "".join(written(locale)) if c.isdecimal()})
        >= 4 * 10 / 2
    )


def test_every_locale_has_names_and_figures() -> None:
    for locale_forms in forms():
        assert len({form.write(DAY) for form in locale_forms}) >= 4, locale_forms[0].name
        april, may = ({form.write(date(2017, month, 3)) for form in locale_forms} for month in (4, 5))
        blotted = [{re.sub(r"\d", "0", text) for text in texts} for texts in (april, may)]
        in_figures = blotted[0] & blotted[1]  # only a figure tells them apart
        assert in_figures, locale_forms[0].name
        assert blotted[0] - blotted[1] or locale_forms[0].name in ("ja_JP", "ko_KR", "vi_VN", "zh_CN"), locale_forms[
            0
        ].name


@pytest.mark.parametrize("day", [date(1999, 12, 31), date(2004, 2, 29), date(2017, 4, 3), date(2060, 10, 11)])
def test_dates_in_figures_have_a_tag_unless_the_year_is_first(day: date) -> None:
    for form in chain.from_iterable(forms()):
        bare = re.sub(r"^<.*> ", "", form.write(day))
        if not re.search(r"[^\W\d]", bare):
            assert form.tagged != bool(re.match(r"\d{4}\b", bare)), form


def test_no_date_is_ambiguous() -> None:
    """All forms of all locales, over days that differ in every way: the order, the month's name, a short year."""
    days = [
        date(year, month, day) for year in (1907, 1999, 2007, 2012) for month in range(1, 13) for day in (1, 3, 7, 12)
    ]
    meant: dict[str, date] = {}
    for form in chain.from_iterable(forms()):
        for day in days:
            if not form.short_year or 1970 <= day.year < 2070:
                assert meant.setdefault(form.write(day), day) == day, form
    assert len(meant) > 20_000


@pytest.mark.slow
def test_no_date_is_ambiguous_in_a_large_sample() -> None:
    meant: dict[str, str] = {}
    for seed in range(4):
        for pair in Dates().pairs(100_000, seed):
            assert meant.setdefault(pair.source, pair.target) == pair.target
    assert len(meant) > 350_000


def test_targets_are_days_of_two_centuries_and_short_years_of_one() -> None:
    pairs = list(Dates().pairs(3000, 1))
    years = [date.fromisoformat(pair.target).year for pair in pairs]
    assert min(years) < 1910 and max(years) > 2090 and all(1900 <= year < 2100 for year in years)
    short = [pair for pair in pairs if not re.search(r"\d{4}", pair.source)]
    assert len(short) > 100
    for pair in short:
        year = date.fromisoformat(pair.target).year
        assert 1970 <= year < 2070
        assert year % 100 in [int(number) for number in re.findall(r"\d+", pair.source)]


def test_locales_are_equally_likely() -> None:
    tags = [tag[0] for pair in Dates().pairs(3000, 1) if (tag := re.findall(r"<(\w+)>", pair.source))]
    assert len(set(tags)) > 35 and 0.1 < len(tags) / 3000 < 0.4


def test_no_day_is_in_two_splits() -> None:
    days = {split: {p.target for p in Dates().pairs(500, 1, split)} for split in ("train", "valid", "test")}
    assert days["train"].isdisjoint(days["valid"] | days["test"]) and days["valid"].isdisjoint(days["test"])


def test_dates_have_plain_spaces_and_no_direction_marks() -> None:
    for pair in Dates().pairs(1500, 1):
        assert not re.search(r"[^\S ]|  ", pair.source)
        assert not any(unicodedata.category(character) == "Cf" for character in pair.source)
        assert len(words(pair.target)) == 1


def test_dates_name_the_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "babel", None)
    with pytest.raises(UserError, match=r"task:dates needs babel: pip install babel"):
        forms.__wrapped__()
