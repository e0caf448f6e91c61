import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.tasks import SPLITS, Addition, Numbers
from saccade.tasks.numbers import LIMIT, SPELLERS

# The words that numbers are made of. Before the stroke they count up from zero, after it by tens.
ATOMS = {
    "en": """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen / twenty thirty forty fifty sixty seventy eighty ninety""",
    "fr": """zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize /
        vingt trente quarante cinquante soixante""",
    "de": """null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn
        siebzehn achtzehn neunzehn / zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig""",
    "zh": "零 一 二 三 四 五 六 七 八 九 /",
}
OTHERS = {
    "en": {"hundred": 100, "thousand": 1000, "million": 10**6},
    "fr": {"vingts": 20, "cent": 100, "cents": 100, "mille": 1000, "million": 10**6, "millions": 10**6},
    "de": {"eins": 1, "eine": 1, "hundert": 100, "tausend": 1000, "Million": 10**6, "Millionen": 10**6},
    "zh": {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8},
}
MULTIPLIERS = {100, 1000, 10**4, 10**6, 10**8}


def read(text: str, language: str) -> int:
    """The value of a spelled number, by another way than it is spelled: a multiplier takes all that is smaller before
    it; what remains is added."""
    units, tens = ATOMS[language].split("/")
    atoms = {word: value for value, word in enumerate(units.split())} | OTHERS[language]
    atoms |= {word: 10 * i for i, word in enumerate(tens.split(), 2)}
    longest_first = "|".join(sorted(atoms, key=len, reverse=True))
    assert re.fullmatch(rf"(?:(?:{longest_first})(?:und| et |-| )?)+", text), text
    numerals = re.findall(longest_first, text)
    parts: list[int] = []
    for value in (atoms[atom] for atom in numerals):
        times = value in MULTIPLIERS or (value == 10 and language == "zh")
        if times or (value == 20 and language == "fr" and parts[-1:] == [4]):
            smaller = 0
            while parts and parts[-1] < value:
                smaller += parts.pop()
            parts.append((smaller or 1) * value)
        else:
            parts.append(value)
    return sum(parts)


@pytest.mark.parametrize(
    ("language", "number", "spelled"),
    [
        ("en", 0, "zero"),
        ("en", 13, "thirteen"),
        ("en", 40, "forty"),
        ("en", 101, "one hundred one"),
        ("en", 21_342, "twenty-one thousand three hundred forty-two"),
        ("en", 1_000_001, "one million one"),
        ("fr", 17, "dix-sept"),
        ("fr", 21, "vingt et un"),
        ("fr", 22, "vingt-deux"),
        ("fr", 70, "soixante-dix"),
        ("fr", 71, "soixante et onze"),
        ("fr", 77, "soixante-dix-sept"),
        ("fr", 80, "quatre-vingts"),
        ("fr", 81, "quatre-vingt-un"),
        ("fr", 91, "quatre-vingt-onze"),
        ("fr", 100, "cent"),
        ("fr", 200, "deux cents"),
        ("fr", 201, "deux cent un"),
        ("fr", 280, "deux cent quatre-vingts"),
        ("fr", 1000, "mille"),
        ("fr", 80_000, "quatre-vingt mille"),
        ("fr", 200_000, "deux cent mille"),
        ("fr", 1_000_000, "un million"),
        ("fr", 80_000_000, "quatre-vingts millions"),
        ("fr", 200_000_200, "deux cents millions deux cents"),
        ("de", 1, "eins"),
        ("de", 16, "sechzehn"),
        ("de", 21, "einundzwanzig"),
        ("de", 30, "dreißig"),
        ("de", 101, "einhunderteins"),
        ("de", 1001, "eintausendeins"),
        ("de", 21_021, "einundzwanzigtausendeinundzwanzig"),
        ("de", 101_000, "einhunderteintausend"),
        ("de", 1_000_000, "eine Million"),
        ("de", 2_000_001, "zwei Millionen eins"),
        ("zh", 0, "零"),
        ("zh", 10, "十"),
        ("zh", 12, "十二"),
        ("zh", 20, "二十"),
        ("zh", 101, "一百零一"),
        ("zh", 110, "一百一十"),
        ("zh", 1001, "一千零一"),
        ("zh", 1010, "一千零一十"),
        ("zh", 10_001, "一万零一"),
        ("zh", 10_100, "一万零一百"),
        ("zh", 11_000, "一万一千"),
        ("zh", 100_000, "十万"),
        ("zh", 120_034, "十二万零三十四"),
        ("zh", 1_001_000, "一百万一千"),
        ("zh", 100_000_000, "一亿"),
        ("zh", 100_001_000, "一亿零一千"),
        ("zh", 100_010_000, "一亿零一万"),
    ],
)
def test_spellings_of_known_numbers(language: str, number: int, spelled: str) -> None:
    assert SPELLERS[language](number) == spelled


@pytest.mark.parametrize("language", SPELLERS)
def test_small_numbers_are_read_back(language: str) -> None:
    for number in range(3000):
        assert read(SPELLERS[language](number), language) == number


@settings(deadline=None, max_examples=300)
@given(number=st.integers(0, LIMIT - 1), zeros=st.integers(0, 8))
def test_numbers_are_read_back(number: int, zeros: int) -> None:
    round_number = number // 10**zeros * 10**zeros
    for language, spell in SPELLERS.items():
        assert read(spell(round_number), language) == round_number
        assert read(spell(number % 10**zeros), language) == number % 10**zeros


def test_both_directions_have_the_same_numbers_and_splits() -> None:
    for split in ("train", "test"):
        of = {
            (language, back): list(Numbers(language=language, to_figures=back).pairs(100, 1, split))
            for language in SPELLERS
            for back in (False, True)
        }
        for language, spell in SPELLERS.items():
            for there, back in zip(of[language, False], of[language, True]):
                assert (there.source, there.target) == (back.target, back.source)
                assert spell(int(there.source)) == there.target
        assert len({tuple(pair.source for pair in of[language, False]) for language in SPELLERS}) == 1


def test_addition_gives_the_sum() -> None:
    for pair in Addition().pairs(500, 1, words=(1, 25)):
        a, b = pair.source.split("+")
        assert int(a) + int(b) == int(pair.target)
        assert str(int(a)) == a and str(int(b)) == b


def test_addition_keeps_both_orders_in_one_split() -> None:
    sums = {
        split: {frozenset(p.source.split("+")) for p in Addition().pairs(300, 1, split, words=(1, 2))}
        for split in SPLITS
    }
    assert sums["train"].isdisjoint(sums["test"] | sums["valid"]) and sums["valid"].isdisjoint(sums["test"])
    assert {pair.source for pair in Addition().pairs(1000, 1, words=(1, 1))} >= {"1+2", "2+1"}
