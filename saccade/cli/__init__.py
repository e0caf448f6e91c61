"""The command line, from its start to its exit code.

This module imports nothing slow, so that `main` handles Ctrl-C from the start.

Exit codes: 0 success, 1 interrupted, 2 an error that the user can fix (a mistake, a full disk), 141 a closed pipe.
"""

import os
import shlex
import sys
from contextlib import suppress
from contextvars import copy_context
from typing import NoReturn

from saccade.errors import UserError, printable

_INTERRUPTED, _ERROR = 1, 2
_BROKEN_PIPE = 128 + 13  # as a shell reports a program that SIGPIPE ended
_TYPER_INTERRUPTED = 130
_LONGEST_MESSAGE = 1_000  # characters


def main() -> None:
    """Run the command. An error that the user can fix is one line, never a traceback."""
    _open_missing_streams()
    try:
        try:
            from saccade.cli.commands import app
            from saccade.provenance import recorded_command

            context = copy_context()
            context.run(recorded_command.set, shlex.join(["saccade", *sys.argv[1:]]))
            context.run(app)
        finally:
            sys.stdout.flush()  # here at the latest, a full disk raises an error
    except UserError as error:
        if not error.elsewhere:
            _say(str(error))
        sys.exit(error.code)
    except OSError as error:
        _end(error)
    except (KeyboardInterrupt, SystemExit) as ending:
        if isinstance(ending.__context__, BrokenPipeError):  # typer turns it into exit code 1
            _end(ending.__context__)
        if isinstance(ending, SystemExit) and ending.code != _TYPER_INTERRUPTED:
            raise
        _say("interrupted")
        sys.exit(_INTERRUPTED)


def _end(error: OSError) -> NoReturn:
    """Exit after a failed write. A closed pipe, such as that of `| head`, needs no message."""
    with suppress(OSError, ValueError):  # drop the rest of the output, or Python tries to write it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        sys.exit(_BROKEN_PIPE)
    _say(f"{error.filename or 'a write failed'}: {error.strerror or error}")
    sys.exit(_ERROR)


def _say(text: str) -> None:
    """Print one line of limited length: the text that it quotes may be long, and is cut in the middle."""
    line = printable(text)
    if len(line) > _LONGEST_MESSAGE:
        half = _LONGEST_MESSAGE // 2
        line = f"{line[:half]} … {line[-half:]}"
    with suppress(OSError):  # standard error is closed
        sys.stderr.write(f"saccade: {line}\n")
        sys.stderr.flush()


def _open_missing_streams() -> None:
    """Replace closed streams (`>&-`), which are None in Python: otherwise the next file would get their number.
    Standard input is then empty, and writing to standard output fails, as in any program."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
