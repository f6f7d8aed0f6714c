"""Files with the spheres of a shape: plain text, CSV, VTK, and cluster files of Kratos."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pdem.containers.mesh_files.vtk import is_poly_data, read_radii
from pdem.foundation import jacobi
from pdem.foundation.errors import InputError
from pdem.foundation.headings import meaning_of
from pdem.foundation.number_rows import (
    NumberRow,
    divider_of,
    fields_of,
    is_decimal_comma,
    is_heading,
    names_of,
    number_of,
    without_comment,
)
from pdem.foundation.texts import TextError, read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pdem.containers.meshes.solid import Solid
    from pdem.foundation.array_types import Floats

_WIDTHS = range(4, 1000)
_CLUSTER_SPHERES = "centers_and_radii"


class SphereList(NamedTuple):
    """Spheres of a shape before any processing.

    Attributes
    ----------
    centre : (n, 3) array
        Centres in the unit of the file.
    radius : (n,) array
        Radii in the unit of the file.
    volume : float or None
        Volume of the shape in the file, None if the file has none.
    inertia_per_mass : (3,) array or None
        Principal moments over the mass, about the origin of the file, which is the centre of mass.
    """

    centre: Floats
    radius: Floats
    volume: float | None = None
    inertia_per_mass: Floats | None = None


def read_spheres(path: Path) -> SphereList:
    """Read the spheres of a shape.

    A file with the extension ``clu`` is a cluster of Kratos, one with ``vtk`` has points with the scalars ``radius``,
    the output of the program multisphere (legacy PolyData). Any other file has a sphere in each line, x, y, z and the
    radius, separated by spaces, tabs, commas or semicolons, as in files of LIGGGHTS, Yade and CLUMP. A first line of
    names may change this order. Text after ``#``, ``//`` or ``%`` is a comment.

    Raises
    ------
    InputError
        If the file cannot be read, or has no spheres, or a sphere with a radius that is not positive; with the line.
    """
    if path.suffix.lower() == ".vtk":
        return _points(path)
    lines = [without_comment(line) for line in _text(path).split("\n")]
    found = _cluster(path, lines) if path.suffix.lower() == ".clu" else _table(path, lines)
    if not len(found.radius):
        raise InputError(f"{path}: has no spheres; give lines of x, y, z and radius")
    return found


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except TextError as error:
        raise InputError(f"{path}: cannot be read: {error}; give lines of x, y, z and radius") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _points(path: Path) -> SphereList:
    """Return the spheres of a VTK file of points with radii."""
    try:
        if not is_poly_data(path):
            raise ValueError("is no legacy VTK file of PolyData; give points with the scalars radius")
        centre, radius = read_radii(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as problem:
        raise InputError(
            f"{path}: cannot be read as spheres: {problem}; if it is a mesh say with how many spheres to fill it"
        ) from None
    if not len(radius):
        raise InputError(f"{path}: has no spheres; give points with the scalars radius")
    return _checked(path, np.column_stack((centre, radius)), range(1, len(radius) + 1), "sphere")


def _table(path: Path, lines: Sequence[str]) -> SphereList:
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line]
    places, sign = [0, 1, 2, 3], ""
    if numbered and is_heading(NumberRow(*numbered[0], [])):
        number, head = numbered.pop(0)
        places, sign = _columns(path, number, names_of(head)), divider_of(head)
    rows = [_row(path, number, line, places, sign) for number, line in numbered]
    return _checked(path, np.array(rows, np.float64).reshape(-1, 4), [number for number, _ in numbered])


def _columns(path: Path, number: int, names: Sequence[str]) -> list[int]:
    """Return the indices of x, y, z and the radius among columns of these names."""
    wanted, meanings = ("x", "y", "z", "radius"), [meaning_of(name) for name in names]
    if any(meanings.count(name) != 1 for name in wanted):
        half = "; a radius is half a diameter" if "diameter" in meanings else ""
        raise InputError(
            f"{path}, line {number}: the names of columns are {', '.join(names).lower()}; x, y, z and r (or radius) "
            f"are needed, each once{half}"
        )
    return [meanings.index(name) for name in wanted]


def _row(path: Path, number: int, line: str, places: Sequence[int], sign: str) -> list[float]:
    """Return the numbers in some columns of a line; its separators may differ from those of the line of names."""
    words = fields_of(line, _WIDTHS, sign)
    try:
        return [number_of(words[place]) for place in places]
    except (TextError, IndexError):
        problem = "are not 4 numbers"
        if any(is_decimal_comma(words[place]) for place in places if place < len(words)):
            problem = "has commas within numbers; write decimal points"
        raise InputError(f"{path}, line {number}: {line[:60]!r} {problem}") from None


def _cluster(path: Path, lines: Sequence[str]) -> SphereList:
    """Return the spheres between Begin and End of a Kratos cluster, and the numbers after Volume and Inertia."""
    begins = [place for place, line in enumerate(lines) if line.split() == ["Begin", _CLUSTER_SPHERES]]
    ends = [place for place, line in enumerate(lines) if line.split() == ["End", _CLUSTER_SPHERES]]
    if len(begins) != 1 or len(ends) != 1 or ends[0] < begins[0]:
        raise InputError(f"{path}: needs one part from Begin {_CLUSTER_SPHERES} to End {_CLUSTER_SPHERES}")
    numbered = [(place + 1, lines[place]) for place in range(begins[0] + 1, ends[0]) if lines[place]]
    spheres = [_numbers(path, number, line, 4) for number, line in numbered]
    found = _checked(path, np.array(spheres).reshape(-1, 4), [number for number, _ in numbered])
    rest = [(place + 1, line) for place, line in enumerate(lines) if line and place > ends[0]]
    volume, inertia = _numbers_after(path, rest, "Volume", 1), _numbers_after(path, rest, "Inertia", 3)
    return found._replace(
        volume=None if volume is None else volume[0], inertia_per_mass=None if inertia is None else np.array(inertia)
    )  # fmt: skip


def _numbers_after(path: Path, rest: Sequence[tuple[int, str]], word: str, count: int) -> list[float] | None:
    """Return the numbers in the lines after a line that begins with a word, None if there is no such line."""
    places = [place for place, (_, line) in enumerate(rest) if line.startswith(word)]
    if not places:
        return None
    number = rest[places[0]][0]
    text = " ".join(line for _, line in rest[places[0] + 1 : places[0] + 1 + count])
    values = _numbers(path, number, " ".join(text.split()[:count]), count)
    if not all(value > 0.0 for value in values):
        raise InputError(f"{path}, line {number}: {word} must be positive, and is {text}")
    return values


def _numbers(path: Path, number: int, line: str, count: int) -> list[float]:
    """Return the numbers of a line that must have `count` of them."""
    try:
        values = [number_of(word) for word in fields_of(line, (count,))]
    except TextError:
        values = []
    if len(values) != count:
        raise InputError(f"{path}, line {number}: {line[:60]!r} are not {count} numbers")
    return values


def _checked(path: Path, spheres: Floats, numbers: Sequence[int], what: str = "line") -> SphereList:
    """Return the spheres after checks; `numbers` are line numbers, or indices of the objects `what`, for messages."""
    for number, row in zip(numbers, spheres, strict=True):
        if not np.isfinite(row).all() or not row[3] > 0.0:
            x, y, z, r = row.tolist()
            raise InputError(
                f"{path}, {what} {number}: a sphere at {x:g}, {y:g}, {z:g} of radius {r:g}; numbers must be finite and "
                "radii positive"
            )
    return SphereList(spheres[:, :3].copy(), spheres[:, 3].copy())


def require_possible(solid: Solid, name: str) -> None:
    """Raise an error unless a body can have this tensor of inertia.

    Raises
    ------
    InputError
        If the tensor is not symmetric, or a principal moment is not positive or exceeds the sum of the other two.
    """
    tensor = solid.inertia
    size = float(np.abs(tensor).max())
    if not np.isfinite(tensor).all() or np.abs(tensor - tensor.T).max() > 1e-9 * size:
        raise InputError(f"{name}: a tensor of inertia is symmetric and finite, and this one is {tensor.tolist()}")
    low, middle, high = jacobi.eigenvalues(tensor).tolist()
    if not low > 0.0 or high > (1.0 + 1e-9) * (low + middle):
        raise InputError(
            f"{name}: principal moments over the mass, {low / solid.volume:g}, {middle / solid.volume:g} and "
            f"{high / solid.volume:g} m2, belong to no body: each is positive and at most the sum of the others; check "
            "units and the order of the components"
        )
