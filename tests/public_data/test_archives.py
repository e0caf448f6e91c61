"""Archives from the web: only what is wanted is unpacked, and never anywhere else."""

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from saccade.errors import UserError
from saccade.public_data.archives import unpack

Pack = Callable[[Path, Mapping[str, bytes]], None]
TEXT = b"a line\nanother line\n"


def pack_tar(path: Path, members: Mapping[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


def pack_zip(path: Path, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


BOTH = pytest.mark.parametrize("pack", [pack_tar, pack_zip], ids=["tar.gz", "zip"])


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in" / "archive"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def written(out: Path) -> set[str]:
    """Every file beside the archive."""
    return {str(path.relative_to(out.parent)) for path in out.parent.rglob("*") if path.is_file()} - {"in/archive"}


@BOTH
def test_only_wanted_members_are_unpacked(pack: Pack, archive: Path, out: Path) -> None:
    pack(archive, {"./de-en/a.de": TEXT, "de-en/README": b"read me", "de-en/a.en": TEXT[::-1]})
    unpack(archive, {"de-en/a.de": out / "0", "de-en/a.en": out / "1"})
    assert (out / "0").read_bytes() == TEXT and (out / "1").read_bytes() == TEXT[::-1]
    assert written(out) == {"out/0", "out/1"}


@BOTH
def test_no_name_in_an_archive_is_a_path(pack: Pack, archive: Path, out: Path) -> None:
    pack(archive, {"../evil": b"x", "/tmp/evil": b"x", "a/../../evil": b"x", "good": TEXT})
    unpack(archive, {"good": out / "0"})
    assert written(out) == {"out/0"} and not Path("/tmp/evil").exists()
    pack(archive, {"../good": TEXT})
    with pytest.raises(UserError, match="there is no good in it: the original has changed"):
        unpack(archive, {"good": out / "1"})


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.dictionaries(st.text(st.sampled_from("ab./\\:-"), min_size=1, max_size=8), st.binary(max_size=9), min_size=1))
def test_any_names_stay_inside(archive: Path, out: Path, members: dict[str, bytes]) -> None:
    for path in out.iterdir():
        path.unlink()
    pack_tar(archive, {**members, "wanted": TEXT})
    unpack(archive, {"wanted": out / "0"})
    assert written(out) == {"out/0"} and (out / "0").read_bytes() == TEXT


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE, b"S"])
def test_links_and_special_files_of_a_tar_are_refused(archive: Path, out: Path, kind: bytes) -> None:
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo("wanted")
        member.type, member.linkname = kind, "/etc/passwd"
        tar.addfile(member)
    with pytest.raises(UserError, match=r"wanted is a link or a special file|damaged"):
        unpack(archive, {"wanted": out / "0"})
    assert written(out) == set()


def test_links_of_a_zip_are_refused(archive: Path, out: Path) -> None:
    with zipfile.ZipFile(archive, "w") as packed:
        link = zipfile.ZipInfo("wanted")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(link, "/etc/passwd")
    with pytest.raises(UserError, match="wanted is a link or a special file"):
        unpack(archive, {"wanted": out / "0"})
    assert written(out) == set()


@BOTH
def test_a_bomb_is_not_unpacked(pack: Pack, archive: Path, out: Path) -> None:
    pack(archive, {"wanted": bytes(4 << 20)})
    with pytest.raises(UserError, match="unpacks to more than 100 times its size, which no text does"):
        unpack(archive, {"wanted": out / "0"})


def test_the_limit_is_for_all_members_together_and_for_those_that_are_skipped(archive: Path, out: Path) -> None:
    pack_zip(archive, {name: bytes(600_000) for name in "abc"})
    with pytest.raises(UserError, match="unpacks to more than"):
        unpack(archive, {name: out / name for name in "abc"})
    pack_tar(archive, {"skipped": bytes(4 << 20), "wanted": TEXT})
    with pytest.raises(UserError, match="unpacks to more than"):
        unpack(archive, {"wanted": out / "0"})


def test_a_single_file_is_decompressed_within_the_same_limit(archive: Path, out: Path) -> None:
    archive.write_bytes(gzip.compress(TEXT))
    unpack(archive, {"": out / "0"})
    archive.write_bytes(TEXT)
    unpack(archive, {"": out / "1"})
    assert (out / "0").read_bytes() == (out / "1").read_bytes() == TEXT
    archive.write_bytes(gzip.compress(bytes(4 << 20)))
    with pytest.raises(UserError, match="unpacks to more than"):
        unpack(archive, {"": out / "2"})


# Named, because gzip writes the time into its header: test ids must not depend on when they are collected.
@pytest.mark.parametrize(
    "content", [gzip.compress(TEXT)[:-9], gzip.compress(TEXT)[:5], b"\x1f\x8bxx"], ids=["end", "header", "magic"]
)
def test_a_damaged_file_is_one_line(archive: Path, out: Path, content: bytes) -> None:
    archive.write_bytes(content)
    for members in ({"": out / "0"}, {"wanted": out / "1"}):
        with pytest.raises(UserError, match=r"damaged \(.*\): the server sent something else, or not all of it"):
            unpack(archive, members)


@BOTH
def test_a_truncated_archive_is_one_line(pack: Pack, archive: Path, out: Path) -> None:
    pack(archive, {"wanted": bytes(range(256)) * 100})
    archive.write_bytes(archive.read_bytes()[:-60])
    with pytest.raises(UserError, match="damaged"):
        unpack(archive, {"wanted": out / "0", "more": out / "1"})


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 255)), min_size=1, max_size=6), st.booleans())
@BOTH
def test_whatever_is_damaged_is_one_line(
    pack: Pack, archive: Path, out: Path, changes: list[tuple[int, int]], plain: bool
) -> None:
    for path in out.iterdir():
        path.unlink()
    pack(archive, {"wanted": TEXT, "other": TEXT})
    content = bytearray(archive.read_bytes())
    if pack is pack_tar and plain:
        content = bytearray(gzip.decompress(content))  # so that the damage is in the tar
    for place, byte in changes:
        content[place % len(content)] = byte
    archive.write_bytes(gzip.compress(content) if pack is pack_tar and plain else content)
    with suppress(UserError):
        unpack(archive, {"wanted": out / "0", "other": out / "1"})
    assert written(out) <= {"out/0", "out/1"}


def test_a_page_instead_of_an_archive_is_refused(archive: Path, out: Path) -> None:
    archive.write_bytes(b"<html>Not found</html>")
    with pytest.raises(UserError, match=r"neither a zip nor a tar.gz archive: the server sent something else"):
        unpack(archive, {"wanted": out / "0"})


def test_an_encrypted_member_is_refused(archive: Path, out: Path) -> None:
    pack_zip(archive, {"wanted": TEXT})
    content = bytearray(archive.read_bytes())
    for mark, flag in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flags of both headers
        content[content.index(mark) + flag] |= 1
    archive.write_bytes(content)
    with pytest.raises(UserError, match="wanted is encrypted"):
        unpack(archive, {"wanted": out / "0"})
