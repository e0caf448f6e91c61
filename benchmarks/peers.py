"""Peers in virtual environments of their own, below `.peers/`, created when they are first needed.

python benchmarks/peers.py [transformers ...]     # create them now
"""

import argparse
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from contest import Subprocess
from work import Work

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("SACCADE_PEERS", ROOT / ".peers"))


@dataclass(frozen=True)
class Peer:
    name: str
    environment: str
    program: str
    module: str  # if this Python can import it, no environment is needed
    packages: tuple[str, ...] = ()
    without_dependencies: tuple[str, ...] = ()  # packages that would replace torch by an older version


TORCH = ("torch==2.13.0", "numpy", "sacrebleu")
MARIAN = Peer(
    "Hugging Face Marian", "transformers", "peer_marian.py", "transformers", (*TORCH, "transformers", "sentencepiece")
)
_OF_OPENNMT = "configargparse pyyaml six tensorboard setuptools<81 ctranslate2 pyonmttok rapidfuzz pyahocorasick flask"
OPENNMT = Peer(
    "OpenNMT-py",
    "opennmt-py",
    "peer_opennmt.py",
    "onmt",
    (*TORCH, *_OF_OPENNMT.split(), "waitress"),
    ("OpenNMT-py==3.5.1",),
)
_OF_JOEYNMT = "pyyaml sentencepiece subword-nmt matplotlib pandas tensorboard six packaging setuptools<81"
JOEYNMT = Peer(
    "JoeyNMT",
    "joeynmt",
    "peer_joeynmt.py",
    "joeynmt",
    (*TORCH, *_OF_JOEYNMT.split(), "importlib_metadata"),
    ("joeynmt==2.3.0",),
)
PEERS = (MARIAN, OPENNMT, JOEYNMT)


def contestant(peer: Peer, work: Work) -> Subprocess:
    """The peer at this work; without its environment, a contestant that says why it is skipped."""
    python = interpreter(peer)
    command = [str(python), "-W", "ignore", str(Path(__file__).with_name(peer.program)), work.to_json()]
    missing = None if python is not None else f"not installed: python benchmarks/peers.py {peer.environment}"
    return Subprocess(peer.name, command, missing=missing)


def interpreter(peer: Peer) -> Path | None:
    """A Python that has the peer: this one, or that of its environment if it was created."""
    if find_spec(peer.module) is not None:
        return Path(sys.executable)
    python = FOLDER / peer.environment / "bin" / "python"
    return python if python.exists() else None


def create(peer: Peer) -> None:
    """pip takes the CPU build of torch because the constraints pin it."""
    folder = FOLDER / peer.environment
    venv.create(folder, with_pip=True)
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-compile"]
    install += ["--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([*install, *peer.packages], check=True)
    if peer.without_dependencies:
        subprocess.run([*install, "--no-deps", *peer.without_dependencies], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(peer.environment for peer in PEERS))
    names = parser.parse_args().names
    for peer in PEERS:
        if not names or peer.environment in names:
            create(peer)
            print(f"{peer.name}: {FOLDER / peer.environment}")


if __name__ == "__main__":
    main()
