"""``pdem new``: write an example case."""

from __future__ import annotations

import click

from pdem.cli.common import serial

_GALLERY = "docs/gallery/index.md"


@click.command(short_help="Write an example case with comments.")
@click.argument("name", required=False)
@click.option("--list", "listed", is_flag=True, help="Show the examples, by group.")
@click.option("--folder", default=".", type=click.Path(), help="Folder to write to; by default this folder.")
def new(name: str | None, listed: bool, folder: str) -> int:
    """Write an example case with comments, and its meshes."""
    if not listed and name is None:
        raise click.UsageError("name an example, or show them with: pdem new --list")
    return serial(lambda: _print_examples() if listed or name is None else _write(name, folder))


def _print_examples() -> None:
    from pdem.case.explain.example_texts import example_groups, example_names, example_title
    from pdem.sweeps.examples import study_names, study_title

    width = max(map(len, [*example_names(), *study_names()]))
    for group, names in example_groups().items():
        click.echo(f"{group}:")
        for name in names:
            click.echo(f"  {name:<{width}}  {example_title(name)}")
    click.echo("many runs:")
    for name in study_names():
        click.echo(f"  {name:<{width}}  {study_title(name)}")
    click.echo(f"pictures, films and run times: the page Gallery of the documentation ({_GALLERY} in the sources)")


def _write(name: str, folder: str) -> None:
    from pdem.case.explain.example_cases import write_example
    from pdem.case.explain.example_texts import example_results
    from pdem.sweeps.examples import study_command, study_names, write_study

    is_study = name in study_names()
    files = write_study(name, folder) if is_study else write_example(name, folder)
    for path, written in files.items():
        click.echo(f"wrote {path}" if written else f"{path} is there already, the same")
    case = next(iter(files))
    if is_study:
        click.echo(f"next: pdem {study_command(name)} {case} --jobs 2")
        return
    results = example_results(name)
    click.echo(f"next: pdem check {case}")
    click.echo(f"      pdem run {case}")
    click.echo(f"      pdem render {results}    (while it runs, in another shell: pdem watch {results})")
