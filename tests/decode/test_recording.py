"""The tree of a search contains its results and does not change them."""

import json
import math

import pytest
from search_models import batch, random_chain

from saccade.decode import Recorder, Search, Translator, run_search
from saccade.decode.search.recording import Node
from saccade.text import BOS, EOS, PAD

SEARCHES = [
    Search(),
    Search(beam=3, n_best=3),
    Search(beam=4, groups=2),
    Search(beam=5, sample=True),
    Search(beam=2, no_repeat=1, shortest=6),
]


def path(nodes: list[Node], node: Node) -> tuple[int, ...]:
    tokens: tuple[int, ...] = ()
    while node.parent is not None:
        tokens, node = (node.token, *tokens), nodes[node.parent]
    return tokens


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_tree_contains_the_results(search: Search) -> None:
    chain, source, numbers = random_chain(21, 1.5), batch((4,), (5, 6), (6,)), [7, 3, 9]
    expected = run_search(chain, *source, search, indices=numbers)
    chain.rows.clear()
    recorder = Recorder()
    assert run_search(chain, *source, search, indices=numbers, recorder=recorder) == expected
    for number, hypotheses in zip(numbers, expected):
        tree = recorder.trees[number]
        root, *others = tree.nodes
        assert (root.token, root.parent, root.step, root.total) == (BOS, None, 0, 0.0)
        results = {(*h.tokens, *([EOS] if h.ended else [])): h for h in hypotheses}
        for node in others:
            assert node.parent is not None and node.parent < node.id
            parent = tree.nodes[node.parent]
            assert node.step == parent.step + 1 and parent.token != EOS and node.token not in (PAD, BOS)
            assert node.total == pytest.approx(parent.total + node.log_prob, abs=1e-5)
            hypothesis = results.get(path(tree.nodes, node))
            if hypothesis is not None:
                assert node.fate == ("ended" if hypothesis.ended else "cut")
                assert (node.score, node.total) == (hypothesis.score, pytest.approx(hypothesis.log_prob, abs=1e-5))
            else:
                assert node.fate in ("kept", "pruned") and node.score is None
                if node.fate == "kept":
                    assert any(other.parent == node.id for other in others)
        assert results.keys() <= {path(tree.nodes, node) for node in tree.nodes}
        assert any(node.fate == "pruned" for node in others)


def test_translation_has_its_tree(learnt: Translator) -> None:
    result, blank = learnt.translate(["it sleeps", " "], Search(beam=2), record=True)
    assert blank.tree is None and result.tree is not None
    tree_json = json.loads(json.dumps(result.tree.as_dict(), allow_nan=False))
    assert tree_json["version"] == 1 and tree_json["nodes"][0]["piece"] == "<s>"
    (best,) = [
        node for node in tree_json["nodes"] if node["score"] is not None and math.isclose(node["score"], result.score)
    ]
    pieces: list[str] = []
    while best["parent"] is not None:
        pieces, best = [best["piece"], *pieces], tree_json["nodes"][best["parent"]]
    assert pieces == [*result.tokens, "</s>"]
    assert learnt.translate(["it sleeps"], Search(beam=2))[0].tree is None
