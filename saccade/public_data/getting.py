"""`saccade get`: download the originals of a data set, check them, and write files to train on.

Everything happens inside the `--out` folder, which one process at a time may use. Originals wait in `.downloads` until
all of them are there; then the new files appear together, or not at all, and `.downloads` is removed.
"""

import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from saccade.data.cleaning import Split
from saccade.data.sources import TextPair
from saccade.errors import Progress, Say, UserError, plural, say
from saccade.files import atomic_folder, path_inside, recover, refuse_links, sha256, write_json
from saccade.locking import entries, locked
from saccade.public_data.archives import unpack
from saccade.public_data.conversion import TextFile, Unpacked, read_part
from saccade.public_data.download import PartialFile, WantedFile, check_web_address, download
from saccade.public_data.options import GetOptions
from saccade.public_data.record import RECORD, RecordedFile, RecordedOriginal, SourceRecord, digest
from saccade.public_data.table import PublicSet, find_set

_DOWNLOADS = ".downloads"
_OWN = (_DOWNLOADS, ".writing-", ".committed")  # how the names of unfinished work begin
_GIGABYTE = 10**9


@dataclass(frozen=True, kw_only=True)
class FetchedData:
    """A data set on disk, and the command that trains on it."""

    folder: Path
    record: SourceRecord
    downloaded: int  # bytes
    is_new: bool  # False: the folder was complete already
    train: str  # a command

    def to_dict(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            **self.record.to_dict(),
            "downloaded": self.downloaded,
            "is_new": self.is_new,
            "train": self.train,
        }

    def lines(self) -> Iterator[str]:
        """What people read at the end."""
        yield f"{self.folder}: {self.record.name}{'' if self.is_new else ', complete already: nothing was changed'}"
        for name, file in self.record.files.items():
            yield f"  {name}: {plural(file.pairs, 'pair')}"
        yield f"source: {self.record.source}"
        yield f"licence: {self.record.licence}"
        yield f"cite: {self.record.citation}"
        yield f"checksums: {self._checksums()}"
        yield f"next: {self.train}"

    def _checksums(self) -> str:
        kinds = [original.checksum for original in self.record.originals]
        if not kinds:
            return f"of the files, in {self.folder / RECORD}; the data came with an installed package"
        texts = []
        if pinned := kinds.count("pinned"):
            texts.append(f"{plural(pinned, 'original')} checked against the published SHA-256")
        if recorded := kinds.count("recorded"):
            texts.append(
                f"{plural(recorded, 'original')} without a published one: recorded at the first download in "
                f"{self.folder / RECORD}, and checked from then on"
            )
        return "; ".join(texts)


def get(name: str, options: GetOptions, *, progress: Progress | None = None, say: Say = say) -> FetchedData:
    """Fetch a data set, or complete it where an earlier call was interrupted."""
    chosen = find_set(name, options.pair)
    if options.mirror is not None:
        check_web_address(options.mirror, "--mirror")
    out = options.out or Path("data") / chosen.folder
    with locked(out, folder=True):
        recover(out)
        known = SourceRecord.load(out)
        if known is None:
            _refuse_other_files(out, chosen)
        elif known.name != chosen.name:
            raise UserError(f"{out}: holds {known.name}, not {chosen.name}; choose another folder by --out")
        elif not known.missing_files(out):
            command = _train_command(chosen, out)
            return FetchedData(folder=out, record=known, downloaded=0, is_new=False, train=command)
        return _Fetching(chosen, out, options, known, progress, say).run()


def _refuse_other_files(out: Path, chosen: PublicSet) -> None:
    others = sorted(path.name for path in entries(out) if not path.name.startswith(_OWN))
    if others:
        raise UserError(
            f"{out}: not empty ({others[0]}); expected a new folder, or the one of an earlier saccade get "
            f"{chosen.name}: choose another by --out"
        )


class _Fetching:
    """One run: download, convert, record."""

    def __init__(
        self,
        chosen: PublicSet,
        out: Path,
        options: GetOptions,
        known: SourceRecord | None,
        progress: Progress | None,
        say: Say,
    ) -> None:
        self.chosen, self.out, self.options, self.known = chosen, out, options, known
        self._progress, self._say = progress, say
        self._downloads = path_inside(out, _DOWNLOADS)
        self._before = 0  # bytes of the originals that are complete
        self._downloaded = 0

    def run(self) -> FetchedData:
        self._say(f"{self.chosen.name}: from {self.chosen.source}; licence: {self.chosen.licence}")
        places = self._fetch_all()
        try:
            record = self._convert(places)
        except UserError:
            for original, place in places.items():  # a page that says "not found", for example: fetch it again
                if original.sha256 is None:
                    place.unlink(missing_ok=True)
            raise
        shutil.rmtree(self._downloads, ignore_errors=True)
        command = _train_command(self.chosen, self.out)
        return FetchedData(folder=self.out, record=record, downloaded=self._downloaded, is_new=True, train=command)

    def _fetch_all(self) -> dict[WantedFile, Path]:
        self._downloads.mkdir(exist_ok=True)
        refuse_links(self._downloads)
        try:
            return {original: self._fetch(original) for original in self.chosen.originals}
        except KeyboardInterrupt:
            self._say(f"{self._downloads}: what has arrived is kept; run the same command again to continue")
            raise
        finally:
            if not any(self._downloads.iterdir()):
                self._downloads.rmdir()

    def _fetch(self, original: WantedFile) -> Path:
        """Download one original, unless an earlier run has, and check it."""
        name = f"{sha256(original.url.encode())[:12]}-{Path(urlsplit(original.url).path).name}"
        place = self._downloads / name
        expected = original.sha256 or (self.known and self.known.sha256_of(original.url)) or None
        if not place.exists():
            wanted = WantedFile(
                url=_mirrored(original.url, self.options.mirror),
                most=min(original.most, int(self.options.max_gb * _GIGABYTE)),
                size=original.size,
                sha256=expected,
            )
            self._say(f"downloading {wanted.url}")
            continued = PartialFile(place, wanted).size
            download(wanted, place, timeout=self.options.timeout, progress=self._report)
            self._downloaded += place.stat().st_size - continued
        found = digest(place)
        if expected is not None and found != expected:
            place.unlink()
            raise self._mismatch(original, found, expected)
        self._before += place.stat().st_size
        return place

    def _mismatch(self, original: WantedFile, found: str, expected: str) -> UserError:
        problem = f"{original.url}: SHA-256 {found}, expected {expected}; the download was removed"
        if original.sha256 is None:
            return UserError(
                f"{problem}. The original has changed since the first download: to accept the new one, choose "
                f"another folder by --out, or remove {self.out / RECORD}"
            )
        return UserError(f"{problem}: run the same command again, or name another mirror by --mirror URL")

    def _report(self, received: int, total: int | None) -> None:
        if self._progress is None:
            return
        sizes = [original.size for original in self.chosen.originals]
        whole = self._before + total if total is not None and len(sizes) == 1 else None
        if None not in sizes:
            whole = sum(size or 0 for size in sizes)
        self._progress(self._before + received, whole)

    def _convert(self, places: Mapping[WantedFile, Path]) -> SourceRecord:
        chosen = self.chosen
        with atomic_folder(self.out) as new:
            with TemporaryDirectory(dir=new) as folder:
                counts = _write_parts(chosen, _unpack_all(chosen, places, Path(folder)), new)
            files = {
                name: RecordedFile(pairs=count, bytes=(new / name).stat().st_size, sha256=digest(new / name))
                for part, count in counts.items()
                for name in chosen.layout.names(part)
            }
            originals = tuple(
                RecordedOriginal(
                    url=original.url,
                    bytes=place.stat().st_size,
                    sha256=digest(place),
                    checksum="recorded" if original.sha256 is None else "pinned",
                )
                for original, place in places.items()
            )
            record = SourceRecord(
                name=chosen.name,
                source=chosen.source,
                licence=chosen.licence,
                citation=chosen.citation,
                originals=originals,
                files=files,
            )
            write_json(new / RECORD, record.to_dict())
        return record


def _mirrored(url: str, mirror: str | None) -> str:
    return url if mirror is None else mirror.rstrip("/") + urlsplit(url).path


def _unpack_all(chosen: PublicSet, places: Mapping[WantedFile, Path], folder: Path) -> Unpacked:
    """Unpack every text of the data set into `folder`, under names of its own."""
    unpacked: dict[TextFile, Path] = {text: folder / str(n) for n, text in enumerate(dict.fromkeys(chosen.text_files))}
    for original, place in places.items():
        unpack(place, {text.member: path for text, path in unpacked.items() if text.file == original})
    return unpacked


def _write_parts(chosen: PublicSet, unpacked: Unpacked, folder: Path) -> dict[str, int]:
    """Write the files of all parts; return the number of pairs by part."""
    counts: dict[str, int] = {}
    for part, origins in chosen.parts.items():
        pairs = read_part(origins, unpacked)
        if chosen.hold_out and part == "train":
            split = Split.of(read_part(origins, unpacked), name=chosen.name)
            counts |= chosen.layout.write(folder, _divide(pairs, split), ("train", "dev"))
        else:
            counts |= chosen.layout.write(folder, ((part, pair) for pair in pairs), (part,))
    for part, expected in chosen.counts.items():
        if counts[part] != expected:
            raise UserError(
                f"{chosen.name}: {plural(counts[part], 'pair')} in {part}, expected {expected:,}: the original has "
                "changed, or the mirror has something else; nothing was written"
            )
    return {part: counts[part] for part in ("train", "dev", "test") if part in counts}


def _divide(pairs: Iterator[TextPair], split: Split) -> Iterator[tuple[str, TextPair]]:
    return (("dev" if pair in split else "train", pair) for pair in pairs)


def _train_command(chosen: PublicSet, out: Path) -> str:
    layout = chosen.layout
    words = ["saccade", "train", *(str(out / name) for name in layout.names("train"))]
    if chosen.hold_out or "dev" in chosen.parts:
        first, *second = (str(out / name) for name in layout.names("dev"))
        words += ["--valid", first]
        words += [word for name in second for word in ("--set", f"data.valid_targets={name}")]
    return shlex.join([*words, "--out", f"runs/{chosen.folder}"])
