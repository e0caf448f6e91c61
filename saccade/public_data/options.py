"""The options of `saccade get`, for the command and for Python alike."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from saccade.ranges import Checked, Range, option


@dataclass(frozen=True, kw_only=True)
class GetOptions(Checked):
    out: Path | None = option(None, "Folder for the files (default: data/NAME).")
    pair: str | None = option(
        None, "Languages of the source and the target: --pair deu-eng is the same as NAME:deu-eng.", metavar="A-B"
    )
    mirror: str | None = option(
        None, "Base URL of a mirror, which replaces the host and keeps the path of every address.", metavar="URL"
    )
    timeout: Annotated[float, Range(above=0, most=3600)] = option(30.0, "Seconds to wait for a server that is silent.")
    max_gb: Annotated[float, Range(above=0, most=1000)] = option(10.0, "Maximum size of a download, in GB.")
