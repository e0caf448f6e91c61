"""`saccade.get` from the first byte to the files, from a server on this machine."""

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from loopback import Web

import saccade
from saccade.data import open_pairs
from saccade.errors import UserError
from saccade.public_data.conversion import SideBySide, TextFile
from saccade.public_data.download import WantedFile
from saccade.public_data.getting import FetchedData, _unpack_all, _write_parts
from saccade.public_data.table import PUBLIC_SETS, PublicSet, find_set
from saccade.train.request import TrainingRequest, plan_recipe

BOOKS = "opus:Books/v1/en-fr"
ARCHIVE = "/OPUS-Books/v1/moses/en-fr.txt.zip"
Get = Callable[..., FetchedData]


def zipped(pairs: int = 100, **more: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Books.en-fr.en", "".join(f"the {n} dogs\n" for n in range(pairs)))
        archive.writestr("Books.en-fr.fr", "".join(f"les {n} chiens\n" for n in range(pairs)))
        for name, text in more.items():
            archive.writestr(name, text)
    return buffer.getvalue()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "books"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def get(web: Web, out: Path, said: list[str]) -> Get:
    def get(name: str = BOOKS, **options: object) -> FetchedData:
        return saccade.get(name, **{"out": out, "mirror": web.url, "timeout": 5, "say": said.append} | options)  # type: ignore[arg-type]

    return get


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def refused(get: Get, message: str, *arguments: str, **options: object) -> None:
    with pytest.raises(UserError, match=message) as error:
        get(*arguments, **options)
    assert "\n" not in str(error.value)


def test_a_corpus_is_fetched_split_and_recorded(web: Web, get: Get, out: Path, said: list[str]) -> None:
    archive = zipped()
    web.put(ARCHIVE, archive)
    seen: list[tuple[int, int | None]] = []
    fetched = get(progress=lambda *call: seen.append(call))
    assert names(out) == {"train.en", "train.fr", "dev.en", "dev.fr", "sources.json"}
    train, dev = (list(open_pairs(str(out / f"{part}.en"), str(out / f"{part}.fr"))) for part in ("train", "dev"))
    assert len(dev) == 5 and len(train) == 95 and not {*train} & {*dev}
    assert fetched.is_new and fetched.downloaded == len(archive) and seen[-1] == (len(archive), len(archive))
    (original,) = json.loads((out / "sources.json").read_text())["originals"]
    assert original == {
        "url": f"https://object.pouta.csc.fi{ARCHIVE}",
        "bytes": len(archive),
        "sha256": hashlib.sha256(archive).hexdigest(),
        "checksum": "recorded",
    }
    lines = "\n".join(fetched.lines())
    assert "train.en: 95 pairs" in lines and "licence: that of Books" in lines and "cite: Tiedemann (2012)" in lines
    assert "1 original without a published one: recorded at the first download in" in lines
    assert "licence: that of Books" in said[0] and said[1] == f"downloading {web.url}{ARCHIVE}"


def test_the_printed_command_trains_on_the_files(web: Web, get: Get) -> None:
    web.put(ARCHIVE, zipped())
    program, command, source, target, valid, dev, set_, targets, out, folder = get().train.split()
    assert (program, command, valid, set_, out, folder) == (
        "saccade", "train", "--valid", "--set", "--out", "runs/opus-Books-v1-en-fr",
    )  # fmt: skip
    recipe = plan_recipe(TrainingRequest(pairs=source, targets=target, valid=dev, settings=(targets,)), say=str)
    assert len(list(recipe.data.all_corpora[0].open())) == 95
    validation = recipe.data.all_corpora[0].open_valid()
    assert validation is not None and len(list(validation)) == 5


def test_a_complete_folder_needs_no_network(web: Web, get: Get, out: Path) -> None:
    web.put(ARCHIVE, zipped())
    first = get()
    again = get(mirror="http://127.0.0.1:9")
    assert not again.is_new and again.record == first.record and again.train == first.train
    assert "complete already: nothing was changed" in next(again.lines())
    assert len(web.requests) == 1


def test_missing_files_are_fetched_again_and_must_be_the_same(web: Web, get: Get, out: Path) -> None:
    web.put(ARCHIVE, zipped())
    record = get().record
    (out / "dev.fr").unlink()
    assert get().record == record and (out / "dev.fr").exists()
    (out / "dev.fr").unlink()
    web.put(ARCHIVE, zipped(README="changed"))
    refused(
        get, r"SHA-256 .*, expected .*; the download was removed. The original has changed since the first download"
    )
    assert names(out) == {"train.en", "train.fr", "dev.en", "sources.json"}


def test_a_changed_file_is_not_overwritten(web: Web, get: Get, out: Path) -> None:
    web.put(ARCHIVE, zipped())
    get()
    (out / "dev.fr").write_text("mine\n")
    (out / "dev.en").unlink()
    refused(get, "dev.fr: not the file that saccade get wrote .*; move it away, or choose another folder by --out")
    assert (out / "dev.fr").read_text() == "mine\n"


def test_other_folders_are_left_alone(web: Web, get: Get, out: Path, tmp_path: Path) -> None:
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    refused(get, r"books: not empty \(notes.txt\); expected a new folder, .*: choose another by --out")
    refused(get, "a file is in the way", out=out / "notes.txt")
    assert names(out) == {"notes.txt"} and web.requests == []
    web.put(ARCHIVE, zipped())
    get(out=tmp_path / "new")
    refused(get, "holds opus:Books/v1/en-fr, not scan:simple; choose another folder", "scan", out=tmp_path / "new")
    (tmp_path / "new" / "notes.txt").write_text("mine")  # beside the data it is nobody's business
    assert not get(out=tmp_path / "new").is_new


@pytest.mark.parametrize("record", ["", "[]", "{}", '{"originals": [], "files": {"../x": {}}}', '{"originals": 1}'])
def test_a_foreign_record_is_refused(get: Get, out: Path, record: str) -> None:
    out.mkdir()
    (out / "sources.json").write_text(record)
    refused(get, r"sources.json: not a record of saccade get \(.*\); move it away, or choose another --out")


def test_links_in_the_folder_are_refused(get: Get, out: Path, tmp_path: Path) -> None:
    out.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (out / ".downloads").symlink_to(tmp_path / "elsewhere")
    refused(get, "a symbolic link, which is not followed")
    assert names(tmp_path / "elsewhere") == set()


def test_ctrl_c_keeps_the_download_and_the_same_call_continues(web: Web, get: Get, out: Path, said: list[str]) -> None:
    archive = zipped(more=Random(1).randbytes(200_000).hex())
    web.put(ARCHIVE, archive)

    def interrupt(received: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get(progress=interrupt)
    assert names(out) == {".downloads"} and "run the same command again to continue" in said[-1]
    fetched = get()
    (_, first), (_, second) = web.requests
    assert first is None and second is not None and 0 < fetched.downloaded < len(archive)
    assert ".downloads" not in names(out) and fetched.record.originals[0].bytes == len(archive)


def test_originals_that_arrived_are_not_fetched_again(web: Web, get: Get, out: Path) -> None:
    path = "/brendenlake/SCAN/master/simple_split/tasks_{}_simple.txt"
    web.put(path.format("train"), b"IN: jump OUT: I_JUMP\n" * 16_728)
    refused(get, "404", "scan")
    assert names(out) == {".downloads"}
    web.put(path.format("test"), b"IN: walk OUT: I_WALK\n" * 4_182)
    fetched = get("scan")
    assert [asked for asked, _ in web.requests].count(path.format("train")) == 1
    assert (out / "test.tsv").read_text().startswith("walk\tI_WALK\n") and fetched.record.files[
        "train.tsv"
    ].pairs == 16_728
    assert fetched.train == f"saccade train {out}/train.tsv --out runs/scan-simple"


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ({"content": b"", "status": 404}, "404"),
        ({"content": b"<html>"}, "neither a zip nor a tar.gz archive"),
        ({"content": zipped()[:-40]}, "damaged"),
        ({"content": zipped(), "announced": 10}, "longer than the 10 bytes that were announced"),
        ({"content": zipped(1)}, "1 pair; expected at least 2 sources"),
    ],
    ids=["missing", "a page", "truncated", "too long", "too few"],
)
def test_after_an_error_nothing_is_left(web: Web, get: Get, out: Path, reply: dict[str, object], message: str) -> None:
    web.put(ARCHIVE, **reply)  # type: ignore[arg-type]
    refused(get, message)
    web.put(ARCHIVE, zipped())
    assert get().downloaded == len(zipped())


def test_a_failed_first_download_leaves_no_folder(get: Get, out: Path) -> None:
    refused(get, "404")
    assert not out.exists()


def test_a_published_number_of_pairs_is_checked(web: Web, get: Get, out: Path) -> None:
    for part in ("train", "val", "test_2016_flickr"):
        for language in ("en", "fr"):
            web.put(f"/multi30k/dataset/master/data/task1/raw/{part}.{language}.gz", gzip.compress(b"a\n" * 1_014))
    refused(get, "multi30k:en-fr: 1,014 pairs in train, expected 29,000", "multi30k", pair="en-fr")
    web.put("/multi30k/dataset/master/data/task1/raw/train.en.gz", gzip.compress(b"a\n" * 29_000))
    refused(get, "differ in length: one ends after 1,014 lines", "multi30k", pair="en-fr")
    assert not (out / "sources.json").exists()


def tarred(members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


def segments(count: int, text: str) -> str:
    return "".join(f'<seg id="{n}">{text} {n} &amp; more</seg>\n' for n in range(count))


def test_iwslt14_is_made_of_talks_and_five_test_sets(web: Web, get: Get, out: Path) -> None:
    members = {}
    for language in ("de", "en"):
        talks = "".join(f"{language} sentence {n}\n" for n in range(40))
        members[f"de-en/train.tags.de-en.{language}"] = f"<url>x</url>\n<title>{language} title</title>\n{talks}"
        for test in ("TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"):
            members[f"de-en/IWSLT14.{test}.de-en.{language}.xml"] = segments(1_350, f"{language} {test}")
    web.put("/fairseq/data/iwslt14/de-en.tgz", tarred(members))
    pairs = {name: file.pairs for name, file in get("iwslt14").record.files.items()}
    assert pairs == {"train.de": 39, "train.en": 39, "dev.de": 2, "dev.en": 2, "test.de": 6_750, "test.en": 6_750}
    (first, *_) = open_pairs(str(out / "test.de"), str(out / "test.en"))
    assert first == ("de TED.dev2010 0 & more", "en TED.dev2010 0 & more")


def test_wmt14_is_made_of_three_corpora_and_two_news_tests(tmp_path: Path) -> None:
    """The originals are too large, and their checksums are pinned: others are converted here."""
    chosen = find_set("wmt14")
    places = {original: tmp_path / f"original{n}" for n, original in enumerate(chosen.originals)}
    for original, place in places.items():
        files = [file for file in chosen.text_files if file.file == original]
        line = Path(original.url).name
        place.write_bytes(
            tarred(
                {
                    file.member: segments(3_003, file.member) if file.form == "segments" else f"{line}\n" * 3_000
                    for file in files
                }
            )
        )
    for folder in ("unpacked", "new"):
        (tmp_path / folder).mkdir()
    counts = _write_parts(chosen, _unpack_all(chosen, places, tmp_path / "unpacked"), tmp_path / "new")
    assert counts == {"train": 9_000, "dev": 3_000, "test": 3_003}
    (first, *_) = open_pairs(str(tmp_path / "new/test.en"), str(tmp_path / "new/test.de"))
    assert first.source.startswith("dev/newstest2014-deen-src.en.sgm 0")
    assert first.target.startswith("dev/newstest2014-deen-ref.de.sgm 0")


@pytest.fixture
def pinned(web: Web, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A data set `pinned` in a tar.gz archive of known size and checksum"""
    content = tarred({"a.de": "one\ntwo\n", "a.en": "one\ntwo\n"})
    file = WantedFile(
        url="https://host/a.tgz", most=10**6, size=len(content), sha256=hashlib.sha256(content).hexdigest()
    )
    made = PublicSet(
        name="pinned",
        source="https://host",
        licence="none",
        citation="nobody",
        parts={"train": [SideBySide(TextFile(file, "a.de"), TextFile(file, "a.en"))]},
    )
    monkeypatch.setitem(PUBLIC_SETS._entries, "pinned", lambda choice: made)
    return content


def test_a_pinned_checksum_is_checked(web: Web, get: Get, out: Path, pinned: bytes) -> None:
    web.put("/a.tgz", pinned[:-1] + b"?")
    refused(get, "the download was removed: run the same command again, or name another mirror by --mirror", "pinned")
    assert not out.exists()
    web.put("/a.tgz", pinned)
    fetched = get("pinned")
    assert fetched.record.originals[0].checksum == "pinned"
    assert "1 original checked against the published SHA-256" in "\n".join(fetched.lines())


def test_a_mirror_may_have_a_path(web: Web, get: Get, pinned: bytes) -> None:
    web.put("/public/data/a.tgz", pinned)
    assert get("pinned", mirror=f"{web.url}/public/data/").is_new
    refused(get, "--mirror 'ftp://host': expected an address that begins with https:// or http://", mirror="ftp://host")


def test_one_process_at_a_time_writes_a_folder(get: Get, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from filelock import FileLock

    out.mkdir()
    with FileLock(out / ".lock"):
        refused(get, "in use by")


def test_cmudict_needs_no_network(get: Get, out: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {f"word{n}": "W ER1 D" for n in range(200)}
    monkeypatch.setattr("saccade.tasks.g2p.pronunciations", lambda: words)
    fetched = get("cmudict")
    assert web.requests == [] and fetched.is_new and fetched.downloaded == 0 and fetched.record.originals == ()
    parts = [list(open_pairs(str(out / f"{part}.tsv"))) for part in ("train", "dev", "test")]
    assert sum(map(len, parts)) == 200 and all(parts)
    assert "the data came with an installed package" in "\n".join(fetched.lines())
