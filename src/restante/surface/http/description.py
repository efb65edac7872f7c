"""What `/openapi.json` says of the routes, from the tables that their parsers read, and of every refusal."""

from collections.abc import Mapping
from typing import Any

from restante.errors import CODES
from restante.surface.requests import Field

Description = dict[str, Any]

_ERROR: Description = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "string", "enum": sorted(CODES)},
                "message": {"type": "string", "description": "What would have worked."},
                "field": {"type": "string", "description": "The field that is not right."},
                "limit": {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string"},
                        "value": {"type": "number"},
                        "actual": {"type": "number"},
                    },
                },
                "candidates": {"type": "array", "items": {"type": "string"}, "description": "What there is instead."},
                "retry_after_seconds": {"type": "number"},
                "incident_id": {"type": "string", "description": "With the code `internal` only."},
            },
        }
    },
}
REFUSALS: dict[int | str, Description] = {
    "default": {"description": "A refusal or a failure.", "content": {"application/json": {"schema": _ERROR}}}
}
"""The one form of every error, whatever its status."""

_TOKEN = {
    "name": "Authorization",
    "in": "header",
    "required": True,
    "description": "Your token: `Bearer <token>`.",
    "schema": {"type": "string"},
}


def body(fields: Mapping[str, Field]) -> Description:
    """A route that takes these fields in a JSON object, and a token."""
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name, field in fields.items() if field.required],
        "properties": {name: _schema(field) | {"description": field.about} for name, field in fields.items()},
    }
    content = {"application/json": {"schema": schema}}
    return {"parameters": [_TOKEN], "requestBody": {"required": True, "content": content}}


def query(fields: Mapping[str, Field]) -> Description:
    """A route that takes these fields in its query string, and a token."""
    parameters = [
        {"name": name, "in": "query", "required": field.required, "description": field.about, "schema": _schema(field)}
        for name, field in fields.items()
    ]
    return {"parameters": [_TOKEN, *parameters]}


def _schema(field: Field) -> Description:
    return {"type": field.kind, **({"enum": list(field.choices)} if field.choices else {})}
