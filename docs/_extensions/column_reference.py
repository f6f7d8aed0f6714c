"""Tables of the fields of output files, made from the tables that the files are written from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pdem.engine.walls.wall_output import BODY_FIELDS, BODY_INDEX, FACET_FIELDS, FACET_NUMBER, NODE_FIELDS
from pdem.features.bonds.results.bond_lines import BOND_LINE_FIELDS
from pdem.features.registry import PARTICLE_FIELDS
from pdem.foundation.fields import written_fields
from pdem.output.snapshots.contact_snapshots import contact_fields
from pdem.report.table import Table
from pdem.run.files.particle_output import CLUSTER_FIELDS, CONTACT_COUNT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sphinx.application import Sphinx

    from pdem.foundation.fields import Field

FOLDER = "generated/columns"
TABLES: dict[str, Sequence[Field]] = {
    "particles": (*written_fields(PARTICLE_FIELDS.values()), CONTACT_COUNT),
    "clusters": CLUSTER_FIELDS,
    "contacts": contact_fields(energies=True, ages=True),
    "bonds": BOND_LINE_FIELDS,
    "wall_points": NODE_FIELDS,
    "wall_cells": (*FACET_FIELDS, BODY_INDEX, FACET_NUMBER),
    "wall_fields": BODY_FIELDS,
}


def table(fields: Sequence[Field]) -> str:
    """Return a table of names, units, shapes and meanings."""
    units = ("" if field.unit == "1" else field.unit for field in fields)
    rows = [
        (f"`{field.name}`", unit, "x".join(map(str, field.shape)) or "1", field.meaning)
        for field, unit in zip(fields, units, strict=True)
    ]
    return Table(("field", "unit", "per row", "meaning"), rows).markdown() + "\n"


def write(app: Sphinx) -> None:
    """Write the tables where they have changed."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, fields in TABLES.items():
        path, text = folder / f"{name}.md", table(fields)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the tables before Sphinx looks for pages."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
