from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.align import GoldLinks, Links
from saccade.align.gold import format_gold, format_links, parse_gold, read_gold
from saccade.errors import UserError

LINKS = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=8)
SIZES = [(2, 1), (2, 1)]


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "gold.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_pharaoh_marks_what_is_only_possible(tmp_path: Path) -> None:
    path = written(tmp_path, "0-0 1p2 2?1 2-1\n\n0-0\n")
    first, second, third = read_gold(path, lengths=[(3, 3), (2, 2), (1, 1)])
    assert first == GoldLinks(sure=frozenset({(0, 0), (2, 1)}), possible=frozenset({(0, 0), (1, 2), (2, 1)}))
    assert second == GoldLinks.all_sure([])
    assert third == GoldLinks.all_sure([(0, 0)])


def test_naacl_has_one_line_per_link_and_counts_from_1(tmp_path: Path) -> None:
    path = written(tmp_path, "0001 1 1 S\n0001 2 3 P 0.5\n0003 2 2\n\n3 0 1 S\n3 1 0 S\n0001 2 3 P\n")
    first, second, third = read_gold(path, lengths=[(2, 3), (1, 1), (2, 2)])
    assert first == GoldLinks(sure=frozenset({(0, 0)}), possible=frozenset({(0, 0), (1, 2)}))
    assert second == GoldLinks.all_sure([])
    assert third == GoldLinks.all_sure([(1, 1)])  # without a mark it is sure, and word 0 is none
    assert read_gold(path) == (first, second, third)


def test_the_number_of_the_first_word_can_be_given(tmp_path: Path) -> None:
    assert read_gold(written(tmp_path, "1-1 2?1\n"), base=1) == (
        GoldLinks(sure=frozenset({(0, 0)}), possible=frozenset({(0, 0), (1, 0)})),
    )
    assert read_gold(written(tmp_path, "1 0 0 S\n"), base=0) == (GoldLinks.all_sure([(0, 0)]),)
    with pytest.raises(UserError, match="from 0 or from 1, not from 2"):
        read_gold(written(tmp_path, "1-1\n"), base=2)


@settings(deadline=None, max_examples=50)
@given(LINKS)
def test_pharaoh_lines_round_trip(links: Links) -> None:
    assert parse_gold(format_links(links), place="line") == GoldLinks.all_sure(links)


@settings(deadline=None, max_examples=50)
@given(st.lists(LINKS, min_size=1, max_size=4))
def test_naacl_lines_round_trip(tmp_path_factory: pytest.TempPathFactory, found: list[Links]) -> None:
    lines = [line for number, links in enumerate(found, 1) for line in format_gold(links, number)]
    path = tmp_path_factory.mktemp("naacl") / "gold"
    path.write_text("\n".join(lines), encoding="utf-8")
    if lines:
        assert read_gold(path, lengths=[(4, 4)] * len(found)) == tuple(map(GoldLinks.all_sure, found))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"0-0\n0:1\n", "gold.txt:2: '0:1' is not a link; expected i-j (sure), i?j or ipj (possible)"),
        (b"0-0\n1--1\n", "gold.txt:2: '1--1'"),
        (b"0-0\n0-\xff\n", "gold.txt:2: '0-\ufffd'"),
        (
            b"2-0\n0-0\n",
            "gold.txt:1: link 2-0 is out of range; the pair has 2 source and 1 target words, counted from 0",
        ),
        (b"0p1\n0-0\n", "gold.txt:1: link 0p1 is out of range"),
        (b"0-0\n", "gold.txt: 1 lines of alignments for 2 pairs"),
        (b"1 1 1 S\n2 1 1 Q\n", "gold.txt:2: '2 1 1 Q' is not a link; expected pair, source word, target word, S or P"),
        (b"1 1 1 S\n3 1 1 S\n", "gold.txt:2: there is no pair 3; expected 1 to 2"),
        (b"0 1 1 S\n", "gold.txt:1: there is no pair 0"),
        (b"0-0\n0-" + b"9" * 5000, "gold.txt:2: '0-9999999999999999999999999999999999999…' is not a link"),
        (b"1 1 1 S\n1 1 " + b"9" * 5000, "…' is not a link; expected pair"),
        (
            b"1 1 1\n2 3 1 S\n",
            "gold.txt:2: link 3 1 is out of range; the pair has 2 source and 1 target words, counted",
        ),
    ],
)
def test_an_invalid_link_is_reported_with_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(UserError) as raised:
        read_gold(written(tmp_path, content), lengths=SIZES)
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_index_out_of_range_suggests_gold_base_and_tokenised(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"counts from 1, use --gold-base 1; .* --tokenised"):
        read_gold(written(tmp_path, "1-1\n2-1\n"), lengths=SIZES)
    with pytest.raises(UserError, match=r"link 0-1 is out of range; .*--gold-base 0"):
        read_gold(written(tmp_path, "0-1\n"), base=1)


def test_a_huge_pair_number_needs_little_memory(tmp_path: Path) -> None:
    found = read_gold(written(tmp_path, "2000000 1 1 S\n"))
    assert len(found) == 2_000_000 and found[0] is found[1] and found[-1].sure == {(0, 0)}
    with pytest.raises(UserError, match="is not a link"):
        read_gold(written(tmp_path, f"{10**18} 1 1 S\n"))


def test_a_missing_gold_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.txt: cannot read the alignments: No such file"):
        read_gold(tmp_path / "none.txt")
