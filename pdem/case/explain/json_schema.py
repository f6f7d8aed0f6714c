"""JSON schema of a case file, and of files with many runs, with which editors complete and check TOML."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema

from pdem.case.explain.key_texts import meaning_of
from pdem.case.sections.base import FOLLOWS
from pdem.case.sections.materials import Interaction
from pdem.contact.law.models import LAWS, PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import BaseModel
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import core_schema

    from pdem.contact.law.parts import Key


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the schema of a kind of file, according to draft 2020-12.

    Parameters
    ----------
    model : type of BaseModel
        All sections of the file.
    """
    schema = model.model_json_schema(schema_generator=_SchemaOfFile, by_alias=False)
    if Interaction.__name__ in schema.get("$defs", {}):
        _add_laws(schema["$defs"][Interaction.__name__])
    return {"$schema": _SchemaOfFile.schema_dialect, **schema}


class _SchemaOfFile(GenerateJsonSchema):
    """Sections as in a file: without null, which TOML lacks, and with the texts of ``pdem explain``."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False, because a title would repeat the name of the key."""
        return False

    def normalize_name(self, name: str) -> str:
        """Return the name of a definition, without the type arguments of a generic section.

        Names with numbers of objects stay as they are, because the numbers distinguish the objects.
        """
        return super().normalize_name(name if ":" in name else name.partition("[")[0])

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Return the schema of an optional value."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema of a value with its default, if the default can be written in one line of a file."""
        found = super().default_schema(schema)
        if found.get("default", {}) is None or isinstance(found.get("default"), dict):
            del found["default"]
        return found

    def tuple_schema(self, schema: core_schema.TupleSchema) -> JsonSchemaValue:
        """Return the schema of a list; if all entries are of one kind, with ``items``, which all editors support."""
        found = super().tuple_schema(schema)
        kinds = found.get("prefixItems", [])
        if kinds and all(kind == kinds[0] for kind in kinds) and "items" not in found:
            found["items"] = found.pop("prefixItems")[0]
        return found

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return the schema of a table, with a text for each key."""
        model, found = schema["cls"], super().model_schema(schema)
        found.pop("title", None)  # the name of the class
        found["description"] = (inspect.getdoc(model) or "").replace("``", "`")
        for name, value in found.get("properties", {}).items():
            value["description"] = meaning_of(model, name)
            if value.pop(FOLLOWS, False):
                found["required"] = [one for one in found["required"] if one != name]
        return found


def _add_laws(interaction: dict[str, Any]) -> None:
    """Add the contact laws and the models of their parts, with their keys, to the schema of an interaction."""
    properties = interaction["properties"]
    laws = [{"const": name, "description": law.normal.text} for name, law in LAWS.items()]
    properties["law"]["anyOf"] = [*laws, {"type": properties["law"].pop("type")}]
    for law in LAWS.values():
        for name, key in law.keys.items():
            properties.setdefault(name, _schema_of_key(key))
    for part, models in PARTS.items():
        tables = [_table(one.text, {"model": {"const": one.model}}, one.keys) for one in models.values()]
        properties[part] = {"description": properties[part]["description"], "oneOf": tables}
    # users' laws have further keys
    interaction["if"] = {"properties": {"law": {"enum": list(LAWS)}}}
    interaction["then"] = {"propertyNames": {"enum": list(properties)}}


def _table(text: str, first: dict[str, Any], keys: Iterable[Key]) -> dict[str, Any]:
    """Return the schema of a table with the keys of a model."""
    return {
        "type": "object",
        "description": text,
        "properties": {**first, **{key.name: _schema_of_key(key) for key in keys}},
        "required": [*first, *(key.name for key in keys if key.required and key.default is None)],
        "additionalProperties": False,
    }


def _schema_of_key(key: Key) -> dict[str, Any]:
    """Return the schema of a key of a model."""
    limits = {
        "exclusiveMinimum": key.above,
        "minimum": key.at_least,
        "exclusiveMaximum": key.below,
        "maximum": key.at_most,
    }
    kind: dict[str, Any] = {"enum": list(key.choices)} if key.choices else {"type": "number", **limits}
    said = {"description": key.text, **kind, "default": key.default, "unit": key.unit or None}
    return {name: value for name, value in said.items() if value is not None}
