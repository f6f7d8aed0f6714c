"""Empty figures for plots, if matplotlib is installed."""

from __future__ import annotations

import io
from importlib.util import find_spec
from typing import TYPE_CHECKING

from pdem.foundation.errors import InputError, how_to_install
from pdem.output.saving import save_file

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def empty_figure(width: float, height: float, otherwise: str = "") -> Figure:
    """Return an empty figure without a screen.

    Parameters
    ----------
    width, height : float
        Size in inches, as in matplotlib.
    otherwise : str
        End of the error message: the user's alternative if matplotlib is not installed.

    Raises
    ------
    InputError
        If matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError(
            f"plots need matplotlib, which is not installed: {how_to_install('render')}{otherwise}"
        ) from None
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Figure, path: Path, dots: int = 150) -> None:
    """Write a figure, at `dots` per inch; the extension of the name determines the format (.png, .pdf, .svg).

    Raises
    ------
    InputError
        If there is no such format, or the file cannot be written.
    """
    kind = path.suffix[1:].lower()
    if kind not in figure.canvas.get_supported_filetypes():
        raise InputError(f"{path}: no such picture format; give -o FILE.png, .pdf or .svg")
    save_file(path, png_of(figure, dots, kind))


def png_of(figure: Figure, dots: int, kind: str = "png") -> bytes:
    """Return a figure at `dots` per inch as PNG, or as an image of a different kind."""
    content = io.BytesIO()
    figure.savefig(content, format=kind, dpi=dots)
    return content.getvalue()
