"""Figures of matplotlib as files."""

from pathlib import Path

from saccade.errors import UserError

_UNDATED = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def save_figure(path: Path) -> None:
    """Write the current figure, in the format that the name ends in, and close it. The same figure is the same file."""
    from matplotlib import pyplot, rc_context

    known = pyplot.gcf().canvas.get_supported_filetypes()
    try:
        if path.suffix[1:].lower() not in known:
            raise UserError(f"{path}: not a kind of figure; end its name in .png, .svg or .pdf")
        with rc_context({"svg.hashsalt": "saccade"}):
            pyplot.savefig(path, metadata=_UNDATED.get(path.suffix))
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        pyplot.close()
