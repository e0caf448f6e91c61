import pytest

from saccade.language import Bilingual, Language, either_in, preferred_language, within


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "ZH_TW"}, "zh"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "de_DE.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
        ({}, "en"),
    ],
)
def test_the_environment_chooses_the_language(environment: dict[str, str], expected: str) -> None:
    assert preferred_language(environment) == expected


def test_texts_have_both_languages() -> None:
    love = Bilingual(en="love", zh="爱")
    assert [within(love, "en"), within(love, "zh"), within("bahdanau2014", "zh")] == ["love", "爱", "bahdanau2014"]


def test_a_chosen_language_chooses_between_two_texts() -> None:
    languages: tuple[Language, ...] = ("en", "zh")
    assert [either_in(language)("word", "词") for language in languages] == ["word", "词"]
