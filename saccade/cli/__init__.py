"""The command line, from its start to its exit code.

Nothing is imported here that takes time, so that Ctrl-C finds `main` at work as soon as Python itself has started.

Exit codes: 0 done, 1 interrupted, 2 what the user must mend (a mistake, a full disk), 141 the reader of a pipe is gone.
"""

import os
import sys
from contextlib import suppress
from typing import NoReturn

from saccade.errors import UserError, printable

_INTERRUPTED, _WRONG = 1, 2
_BROKEN_PIPE = 128 + 13  # as a shell reports a program that SIGPIPE has ended
_TYPERS_INTERRUPTED = 130
_LONGEST_MESSAGE = 1_000  # characters


def main() -> None:
    """Run the command that was typed. Whatever a user must mend is one line, never a traceback."""
    _open_missing_streams()
    try:
        try:
            from saccade.cli.commands import app

            app()
        finally:
            sys.stdout.flush()  # a disk that is full shows here at the latest
    except UserError as error:
        if not error.elsewhere:
            _say(str(error))
        sys.exit(error.code)
    except OSError as error:
        _end(error)
    except SystemExit as ending:
        if isinstance(ending.__context__, BrokenPipeError):  # which typer makes a 1
            _end(ending.__context__)
        if ending.code != _TYPERS_INTERRUPTED:
            raise
        _say("interrupted")
        sys.exit(_INTERRUPTED)
    except KeyboardInterrupt:
        _say("interrupted")
        sys.exit(_INTERRUPTED)


def _end(error: OSError) -> NoReturn:
    """Of a disk, a pipe or another part of the system that failed. A reader who has seen enough is no mistake."""
    with suppress(OSError, ValueError):  # what standard output did not take is dropped, or Python tries again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        sys.exit(_BROKEN_PIPE)
    _say(f"{error.filename or 'a write failed'}: {error.strerror or error}")
    sys.exit(_WRONG)


def _say(text: str) -> None:
    """One line that can be read: text from elsewhere that it quotes may be of any length, and is cut in the middle."""
    line = printable(text)
    if len(line) > _LONGEST_MESSAGE:
        half = _LONGEST_MESSAGE // 2
        line = f"{line[:half]} … {line[-half:]}"
    with suppress(OSError):  # nobody is listening
        sys.stderr.write(f"saccade: {line}\n")
        sys.stderr.flush()


def _open_missing_streams() -> None:
    """A stream that was closed (`>&-`) is None in Python, and the next file that is opened would take its number.
    Standard input is then empty, and what is written to standard output fails, as it would in any program."""
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
