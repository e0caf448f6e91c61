from pathlib import Path
from typing import NamedTuple

import pytest

from saccade.data import TextPair
from saccade.errors import UserError
from saccade.text import Placeholders, Policy, Vocabularies
from saccade.text.tokeniser import Kind


class Texts(NamedTuple):
    source: str
    target: str


PAIRS = [Texts("the dog sleeps", "le chien dort"), Texts("the child reads", "l'enfant lit")] * 5


def test_vocabularies_are_joint_by_default_and_separate_on_request(tmp_path: Path) -> None:
    policy = Policy(kind="word", size=300)
    joint = Vocabularies.train(PAIRS, policy)
    assert joint.joint and joint.source.policy == policy
    assert joint.source.tokens(joint.source.encode("the chien")) == ["▁the", "▁chien"]

    separate = Vocabularies.train(PAIRS, policy, joint=False)
    assert not separate.joint
    assert len(separate.source.encode("the")) == 1 < len(separate.source.encode("chien"))
    assert len(separate.target.encode("chien")) == 1 < len(separate.target.encode("the"))
    assert len({joint.hash, separate.hash, joint.source.hash}) == 3

    for name, pair in (("joint", joint), ("separate", separate)):
        folder = tmp_path / name
        folder.mkdir()
        pair.save(folder)
        loaded = Vocabularies.load(folder)
        assert loaded.hash == pair.hash and loaded.joint == pair.joint
    assert sorted(file.name for file in (tmp_path / "joint").iterdir()) == ["tokeniser.json", "tokeniser.model"]


LINKED = [Texts(f"see https://a.org/{n} or <b>{n}</b>", f"voir https://a.org/{n} ou <b>{n}</b>") for n in range(40)]


@pytest.mark.parametrize("kind", ["unigram", "bpe", "char", "word"])
@pytest.mark.parametrize("joint", [True, False])
def test_placeholders_are_one_token_each_and_saved_with_the_vocabulary(kind: Kind, joint: bool, tmp_path: Path) -> None:
    made = Vocabularies.train(
        LINKED, Policy(kind=kind, size=420), joint=joint, tags=["<fr>"], placeholders=Placeholders(("url", "markup"))
    )
    made.save(tmp_path)
    loaded = Vocabularies.load(tmp_path)
    assert loaded.hash == made.hash and loaded.placeholders == made.placeholders
    plain = Vocabularies.train(LINKED, Policy(kind=kind, size=420), joint=joint, tags=["<fr>"])
    assert plain.hash != made.hash

    masked = loaded.mask("<fr> see https://b.org/x or <b>9</b>")  # a tag that looks like markup is none
    assert masked.shown is not None and list(masked.shown.values()) == ["https://b.org/x", "<b>", "</b>"]
    ids, ranges, text = loaded.source.encode_with_spans(masked.text, masked.shown)
    assert text == "see https://b.org/x or <b>9</b>"
    pieces = loaded.source.tokens(ids, masked.shown)
    where = next(place for place, piece in enumerate(pieces) if "https" in piece)
    assert ranges[where] == (1, 8)  # https : / / b.org / x
    assert ranges[0] == (0, 0) and pieces[0] == "<fr>"
    assert masked.restore(loaded.source.decode(ids)) == "<fr> see https://b.org/x or <b>9</b>"

    source, target = loaded.encode(LINKED[3])
    left, right = loaded.mask_pair(*LINKED[3])
    assert len(left.shown or {}) == 3
    assert left.restore(loaded.source.decode(source)) == LINKED[3].source
    assert right.restore(loaded.target.decode(target)) == LINKED[3].target


def test_damaged_placeholders_are_refused(tmp_path: Path) -> None:
    Vocabularies.train(LINKED, Policy(size=420), placeholders=Placeholders(("url",))).save(tmp_path)
    (tmp_path / "placeholders.json").write_text("[]")
    with pytest.raises(UserError, match=r"placeholders.json: damaged"):
        Vocabularies.load(tmp_path)


def test_each_side_may_have_its_own_kind(tmp_path: Path) -> None:
    pairs = [TextPair("cat", "K AE1 T"), TextPair("chat", "CH AE1 T"), TextPair("act", "AE1 K T")]
    sides = Vocabularies.train(pairs, Policy(kind="char", size=300), Policy(kind="word", size=300))
    assert not sides.joint
    source, target = sides.encode(pairs[1])
    assert sides.source.tokens(source) == ["c", "h", "a", "t"]
    assert sides.target.tokens(target) == ["▁CH", "▁AE1", "▁T"] and sides.target.decode(target) == "CH AE1 T"
    sides.save(tmp_path)
    assert Vocabularies.load(tmp_path).hash == sides.hash
