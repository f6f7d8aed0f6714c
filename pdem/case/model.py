"""The case: all definitions of a simulation, read from a TOML file and checked as a whole."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr, ValidationError

from pdem.case.explain.key_texts import lists_of
from pdem.case.hints.toml_text import parsed
from pdem.case.hints.validation import in_order, problems_of
from pdem.case.laws import unknown_keys_of_laws
from pdem.case.messages import Problem
from pdem.case.overrides import apply_override
from pdem.case.rules.checks import problems_of_case
from pdem.case.sections.base import flat_keys
from pdem.case.sections.earlier_keys import as_written, in_present_names
from pdem.case.sections.mixing import as_in_file, idle_problem, once_for_all_pairs
from pdem.case.sections.schema import TEXT_SOURCE, CaseData
from pdem.foundation.arguments import instance_of, path_of
from pdem.foundation.errors import CaseError
from pdem.foundation.texts import TextError, plain_text, read_text

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST_VALUE = 80


class Case(CaseData):
    """A simulation to run.

    Read a case with `Case.read` or `Case.from_text`; both check everything that can be checked without opening further
    files. The attributes are the sections of the file, those of `pdem.case.sections.schema.CaseData`. A case changes
    only through `override`.
    """

    _document: dict[str, Any] = PrivateAttr(default_factory=dict)
    _earlier_names: tuple[str, ...] = PrivateAttr(default=())

    @classmethod
    def read(cls, path: str | Path) -> Case:
        """Read a case file.

        Parameters
        ----------
        path : path
            Path of a TOML file; its folder is the base of the relative paths in it.

        Raises
        ------
        CaseError
            If the file cannot be read, or has mistakes; one line per problem.
        """
        path = path_of(path, CaseError)
        case = cls._from_text(_file_text(path), path.parent, str(path))
        case._path = path
        return case

    @classmethod
    def from_text(cls, text: str, directory: str | Path = ".") -> Case:
        """Read a case from TOML text; `directory` is the base of the relative paths in it.

        Raises
        ------
        CaseError
            If the text has mistakes; one line per problem.
        """
        instance_of("the text of a case", text, str, "give TOML text, or read a file: Case.read(path)")
        return cls._from_text(plain_text(text), path_of(directory, CaseError), TEXT_SOURCE)

    @classmethod
    def _from_text(cls, text: str, directory: Path, source: str) -> Case:
        case = cls._from_document(parsed(text, source, lists_of(cls)), source)
        case._directory = directory
        return case

    @classmethod
    def _from_document(cls, document: dict[str, Any], source: str) -> Case:
        present, earlier, problems = in_present_names(document)
        try:
            case = cls.model_validate(present)
        except ValidationError as error:
            problems += [*unknown_keys_of_laws(present), *problems_of(cls, error.errors(include_url=False))]
            raise _case_error(problems, document, source) from None
        problems += problems_of_case(case)
        if problems:
            raise _case_error(problems, document, source)
        case._document, case._earlier_names = present, earlier
        return case

    @property
    def earlier_names(self) -> tuple[str, ...]:
        """One line for each key that the file, or an override, has by a name of earlier versions."""
        return self._earlier_names

    def __repr__(self) -> str:
        """Return title or file, end, and the numbers of materials, walls and further objects."""
        many = ", ".join(f"{count} {name}" for name, count in self._numbers() if count)
        return f"Case({self.title or self.source!r}: {self.time.end:g} s, {many})"

    def _numbers(self) -> list[tuple[str, int]]:
        names = (
            "materials",
            "interactions",
            "particles",
            "insertions",
            "walls",
            "motions",
            "forces",
            "sensors",
            "fields",
        )
        return [(name, len(getattr(self, name))) for name in names]

    def _repr_html_(self) -> str:
        """Return a table of the values that differ from the defaults, for a notebook."""
        from pdem.output.notebook import notebook_page

        given = flat_keys("", self.model_dump(mode="python", exclude_none=True, exclude_defaults=True))
        rows = [(key, _shortened(value)) for key, value in given.items()]
        return notebook_page(self.title or self.source, repr(self), rows)

    def override(self, assignment: str) -> None:
        """Change one value, as if the file contained it.

        Parameters
        ----------
        assignment : str
            ``key=value`` with the value in TOML syntax: ``time.end=0.5``, ``particles.0.radius=1e-3`` or
            ``particles[0].radius=1e-3``, ``output.folder="results/b"``.

        Raises
        ------
        CaseError
            If the result would not be valid, or the value has no influence; the case is then unchanged.
        """
        instance_of("an override", assignment, str, 'write it "key=value", for instance "time.end=0.5"')
        document = copy.deepcopy(self._document)
        source = f"{self.source} with {' '.join(assignment.split())}"
        parts = apply_override(document, assignment, source, CaseData)
        changed = self._from_document(document, source)
        if idle := idle_problem(parts, document):
            raise CaseError(f"{source}: {'.'.join(parts)} {idle}")
        # Sections are frozen so that every change is validated; only this statement changes them.
        self.__dict__.update(changed.__dict__)
        self._document = changed._document
        self._earlier_names = tuple(dict.fromkeys((*self._earlier_names, *changed._earlier_names)))

    def changed(self, assignments: Iterable[str] = ()) -> Case:
        """Return a copy with changes in the notation of `override`.

        Raises
        ------
        CaseError
            If the result would not be valid.
        """
        copied = self.model_copy(deep=True)
        for assignment in assignments:
            copied.override(assignment)
        return copied

    def resolved_step(self) -> float:
        """Return the time step in s, computed from the limits if it is ``"auto"``.

        Raises
        ------
        CaseError
            If it is ``"auto"`` and the case has no limit of the time step, or a file of particles cannot be read.
        """
        if not isinstance(self.time.step, str):
            return self.time.step
        # Imported here because the limits may need files of particles, and their readers import much more.
        from pdem.case.timestep import automatic_step

        return automatic_step(self)


def _shortened(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def _case_error(problems: list[Problem], document: dict[str, Any], source: str) -> CaseError:
    written = (as_written(as_in_file(problem, document), document) for problem in problems)
    found = in_order(once_for_all_pairs(written))
    return CaseError("\n".join(dict.fromkeys(problem.line(source, document) for problem in found)))


def _file_text(path: Path) -> str:
    try:
        return read_text(path)
    except FileNotFoundError:
        raise CaseError(f"{path}: no such case file; 'pdem new NAME' writes an example") from None
    except IsADirectoryError:
        raise CaseError(f"{path}: is a folder; name the case file in it") from None
    except TextError as error:
        raise CaseError(f"{path}: {error}; a case is a text file in UTF-8") from None
    except OSError as error:
        raise CaseError(f"{path}: cannot be read: {error.strerror}") from None
