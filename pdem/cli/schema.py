"""``pdem schema``: the JSON schema with which editors complete and check case files."""

from __future__ import annotations

from pathlib import Path

import click

from pdem.cli.common import overwrite_option, require_free, serial


@click.command(short_help="Print the JSON schema of the case file, for editors.")
@click.option(
    "--of",
    "kind",
    type=click.Choice(["case", "sweep", "calibrate"]),
    default="case",
    show_default=True,
    help="Kind of file: a case, or what pdem sweep or pdem calibrate read.",
)
@click.option("-o", "--output", type=click.Path(), help="Write the schema to this file.")
@overwrite_option("Replace the file if it exists.")
def schema(kind: str, output: str | None, overwrite: bool) -> int:
    """Print the JSON schema (draft 2020-12) of the case file, with texts, units and defaults of all keys.

    With the schema, editors with a TOML language server complete keys and values, explain them and mark mistakes. Write
    it beside the case, pdem schema -o pdem-case.schema.json, and let the case begin with the line

    \b
      #:schema ./pdem-case.schema.json
    """  # noqa: D301 - click's mark for lines that stay as they are is the character itself
    return serial(lambda: _schema(kind, output, overwrite))


def _schema(kind: str, output: str | None, overwrite: bool) -> None:
    import json

    from pdem.case.explain.json_schema import json_schema
    from pdem.case.sections.schema import CaseData
    from pdem.foundation.files import write_file
    from pdem.output.saving import saving
    from pdem.sweeps.examples import study_roots

    if output is not None:
        require_free(Path(output), overwrite=overwrite)
    model = CaseData if kind == "case" else study_roots()[kind].model
    text = json.dumps(json_schema(model), indent=2, ensure_ascii=False)
    if output is None:
        click.echo(text)
    else:
        with saving(Path(output), "name another file"):
            write_file(output, f"{text}\n")
        click.echo(f"wrote {output}")
