"""Run the commands of the story and keep what they print: python docs/story_runs.py [NAME …]"""

import json
import os
import shlex
import subprocess
import sys
import tempfile

from story_tables import COMMANDS, RUNS

from saccade.files import write_json
from saccade.provenance import provenance

WIDTH = "100"  # of the terminal


def run(command: str) -> str:
    """What a command prints on standard output, without spaces at the ends of lines."""
    program, *arguments = shlex.split(command)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", program, *arguments],
            cwd=folder,
            env={**os.environ, "COLUMNS": WIDTH},
            capture_output=True,
            text=True,
            check=True,
        )
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "".join(f"{line}\n" for line in lines if line)


def main() -> None:
    names = sys.argv[1:] or list(COMMANDS)
    saved = json.loads(RUNS.read_text(encoding="utf-8"))["outputs"] if RUNS.exists() else {}
    made = provenance(command=f"python docs/story_runs.py {' '.join(sys.argv[1:])}".strip())
    for name in names:
        saved[name] = run(COMMANDS[name])
        sys.stdout.write(saved[name])
        outputs = {each: saved[each] for each in COMMANDS if each in saved}
        write_json(RUNS, {"outputs": outputs, "provenance": made})


if __name__ == "__main__":
    main()
