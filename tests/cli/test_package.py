"""The package as it is published: what is in it, and that it works where the repository is not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from pdem.case.explain.example_cases import example_names, write_example
from pdem.foundation.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
NAME = f"polydem-{VERSION}"
OURS = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
_WRITE_ALL = """
import sys
from pdem.case.explain.example_cases import example_names, write_example
for name in example_names():
    write_example(name, sys.argv[1])
"""
NEED_SOURCES = (
    (("bench", "--peer", "lammps"), "benchmarks"),
    (("scaling", "plan", "silo.toml"), "benchmarks"),
    (("scaling", "rehearse", "silo.toml"), "benchmarks"),
    (("scaling", "proposal", "silo.toml", "results", "--ranks", "2"), "benchmarks"),
    (("verify",), "validation"),
    (("verify", "--list"), "validation"),
    (("verify", "bits", "h2"), "validation"),
)
pytestmark = pytest.mark.compiles


def clean(**more):
    """Return the environment of a user who has nothing of this project."""
    return {name: value for name, value in os.environ.items() if name not in OURS} | more


def call(*command, folder, code=0, **more):
    """Run a command and return what it prints."""
    words = list(map(str, command))
    result = subprocess.run(words, cwd=folder, env=clean(**more), capture_output=True, text=True, check=False)
    assert result.returncode == code, result.stdout + result.stderr
    return result.stdout + result.stderr


@pytest.fixture(scope="module")
def distributions(tmp_path_factory):
    """Return the folder with the source distribution, and the wheel that is made from it alone."""
    pytest.importorskip("build", reason="the extra `test` brings build, which makes the package")
    folder = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, folder=folder)
    return folder


@pytest.fixture(scope="module")
def wheel(distributions):
    return distributions / f"{NAME}-py3-none-any.whl"


def files_of(*folders):
    """Return the files in folders of the repository that belong into the package."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    return {path.relative_to(ROOT).as_posix() for path in paths if "__pycache__" not in path.parts}


def test_wheel_has_all_of_pdem_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    own = {name for name in names if not name.startswith(f"{NAME}.dist-info/")}
    assert own == files_of("pdem", "decomposition")
    assert {"pdem/py.typed", "pdem/case/examples/silo.toml", "pdem/watch/page.html"} <= own


def test_source_distribution_has_what_tests_and_pages_need(distributions):
    with tarfile.open(distributions / f"{NAME}.tar.gz") as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert files_of("pdem", "decomposition", "benchmarks", "validation", "cases", "slurm", "tests") <= names
    assert {"README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "docs/walls.md"} <= names
    assert {"scripts/setup", "scripts/test", "scripts/constraints.txt"} <= names


def test_metadata_tells_what_a_user_looks_for(wheel):
    with zipfile.ZipFile(wheel) as file:
        data = Parser().parsestr(file.read(f"{NAME}.dist-info/METADATA").decode())
    assert data["Name"] == "polydem"
    assert data["Version"] == VERSION
    systems = {one for one in data.get_all("Classifier") if one.startswith("Operating System")}
    assert systems == {"Operating System :: POSIX :: Linux", "Operating System :: MacOS"}
    assert {"mpi", "render"} <= set(data.get_all("Provides-Extra"))
    needed = [one for one in data.get_all("Requires-Dist") if "extra ==" not in one]
    assert not any(one.startswith(("mpi", "pytest", "sphinx", "pyvista")) for one in needed)
    assert data.get_all("Project-URL")
    assert data.get_payload().startswith("# pdem")
    assert data["Description-Content-Type"] == "text/markdown"


def test_description_has_no_links_that_lead_nowhere(wheel):
    """An index shows it without the files beside it."""
    with zipfile.ZipFile(wheel) as file:
        text = Parser().parsestr(file.read(f"{NAME}.dist-info/METADATA").decode()).get_payload()
    assert re.findall(r"\]\((?!https?://)[^)]*\)", text) == []
    assert "| start | install, first ten minutes, gallery, tutorials |" in text
    assert text.count("```") == (ROOT / "README.md").read_text(encoding="utf-8").count("```")


def test_a_recipe_copies_what_the_build_needs():
    """The recipe for Apptainer names the files that it takes; the build reads these."""
    recipe = (ROOT / "apptainer.def").read_text(encoding="utf-8")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "pdem", "decomposition"):
        assert f"    {name} /source/{name}\n" in recipe


def test_version_stands_once_and_is_that_of_citation_and_changelog():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (\S+)", citation, re.MULTILINE)[1] == VERSION
    releases = re.findall(r"^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert releases[0] == VERSION


def short_run(python, folder):
    """Write the first example of the README and run it for a moment, as its reader would; return what it said."""
    command = Path(python).with_name("pdem")
    call(command, "new", "silo", folder=folder)
    said = call(command, "run", "silo.toml", "--set", "time.end=0.004", folder=folder)
    assert (folder / "results" / "silo" / "particles.vtkhdf").exists()
    return said


def test_wheel_runs_without_the_repository(wheel, tmp_path):
    """Its dependencies are those of this environment, without its link to the repository."""
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    call(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, folder=tmp_path)
    (site,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    where = call(
        python, "-c", "import pdem, decomposition; print(pdem.__file__, decomposition.__file__)", folder=tmp_path
    )
    assert where.count(str(site)) == 2
    assert f"results in {Path('results') / 'silo'}" in short_run(python, tmp_path)
    check_what_needs_the_sources(python.with_name("pdem"), tmp_path)
    check_examples(python, tmp_path)


def check_what_needs_the_sources(command, folder):
    """Commands whose code the wheel lacks say so in a line, also where others have packages of these names."""
    foreign = folder / "foreign"
    for name in ("benchmarks", "validation"):
        (foreign / name).mkdir(parents=True)
        (foreign / name / "__init__.py").touch()
    for words, package in NEED_SOURCES:
        said = call(command, *words, folder=folder, code=2, PYTHONPATH=str(foreign))
        assert said.startswith("pdem: error: "), said
        assert f"needs the folder {package}/ of the sources" in said
        assert f"unpack {NAME}.tar.gz" in said
        assert said.count("\n") == 1, said
    assert "bits" in call(command, "verify", "bits", "--list", folder=folder)


def check_examples(python, folder):
    """Each example is written with its meshes, as from the sources."""
    names = example_names()
    assert len(names) >= 31
    call(python, "-c", _WRITE_ALL, "examples", folder=folder)
    for name in names:
        write_example(name, folder / "expected")
    found, expected = (
        {path.name: path.read_bytes() for path in (folder / one).iterdir()} for one in ("examples", "expected")
    )
    assert {f"{name}.toml" for name in names} | {"h2_rotor.vtk", "h2_holes.vtk"} <= set(found)
    assert found == expected


@pytest.mark.slow
def test_the_wheel_with_kernels_starts_without_compiling(tmp_path):
    """It is made as for a release, and installed where there is nothing else."""
    call("bash", ROOT / "scripts" / "wheel", tmp_path, folder=tmp_path)
    (path,) = tmp_path.glob("*.whl")
    assert re.fullmatch(rf"{NAME}-py3\d+-none-manylinux_2_17_x86_64\.whl", path.name)
    assert path.stat().st_size < 40e6
    venv.create(tmp_path / "env", with_pip=True)
    python, cache = tmp_path / "env" / "bin" / "python", tmp_path / "cache"
    pins = ROOT / "scripts" / "constraints.txt"
    call(python, "-m", "pip", "install", path, "-c", pins, folder=tmp_path)
    call(python.with_name("pdem"), "new", "silo", folder=tmp_path)
    run = (python.with_name("pdem"), "run", "silo.toml", "--set", "time.end=0.004", "--overwrite")
    said = call(*run, folder=tmp_path, PDEM_CACHE_DIR=str(cache))
    assert "compiling" not in said
    assert not list(cache.rglob("*.nbc")), "a kernel is missing in the wheel"
    (site,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    for damaged in (site / "pdem" / "kernels").rglob("*.nbc"):
        damaged.write_bytes(damaged.read_bytes()[:-9])
    assert "is damaged: it is compiled again" in call(*run, folder=tmp_path, PDEM_CACHE_DIR=str(cache))


@pytest.mark.slow
def test_wheel_runs_in_an_empty_environment_and_with_mpi(wheel, tmp_path):
    """All dependencies come from the package index: only those that the metadata names are there."""
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    pins = ROOT / "scripts" / "constraints.txt"
    call(python, "-m", "pip", "install", wheel, "-c", pins, folder=tmp_path)
    short_run(python, tmp_path)
    needs = call(python.with_name("pdem"), "run", "silo.toml", folder=tmp_path, code=2, PMI_RANK="0", PMI_SIZE="2")
    assert "pip install 'polydem[mpi]'" in needs
    call(python, "-m", "pip", "install", f"{wheel}[mpi]", "-c", pins, folder=tmp_path)
    mpirun = [python.with_name("mpirun"), "-n", 2, python.with_name("pdem")]
    call(*mpirun, "run", "silo.toml", "--set", "time.end=0.004", "--overwrite", folder=tmp_path, PDEM_THREADS="1")
