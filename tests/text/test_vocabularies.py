from pathlib import Path
from typing import NamedTuple

from saccade.text import Policy, Vocabularies


class Texts(NamedTuple):
    source: str
    target: str


PAIRS = [Texts("the dog sleeps", "le chien dort"), Texts("the child reads", "l'enfant lit")] * 5


def test_joint_by_default_and_separate_when_asked(tmp_path: Path) -> None:
    policy = Policy(kind="word", size=300)
    joint = Vocabularies.train(PAIRS, policy)
    assert joint.joint and joint.source.policy == policy
    assert joint.source.pieces(joint.source.encode("the chien")) == ["▁the", "▁chien"]

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
