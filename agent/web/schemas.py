"""JSON Schema of each document that ``--json`` prints, made of its answer; the OpenAPI description of those served."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from agent.answers.catalog import ANSWERS, ERROR, TITLES
from agent.answers.kind import DIALECT, schema_of
from agent.web.endpoints import ENDPOINTS, PREFIX, VERSION, Endpoint, Kind, Parameter

_JSON = "application/json"
_REFUSED = {
    "400": "The query asks for what there is not.",
    "401": "A user and a password are asked for.",
    "403": "Documents are closed, since nothing here asks who is asking.",
    "404": "There is no such document, proposal or unit.",
    "500": "It could not be made; the log says why.",
    "503": "The ledger is busy.",
}


@cache
def schema_names() -> tuple[str, ...]:
    """Every schema that there is, sorted."""
    return tuple(sorted(ANSWERS))


@cache
def read_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of that name, one of ``schema_names``."""
    return schema_of(ANSWERS[name], TITLES[name])


def make_openapi(release: str) -> dict[str, Any]:
    """The description of everything that is served, as OpenAPI 3.1 has it.

    Args:
        release: of hotplace.
    """
    names = sorted({ERROR, *(endpoint.schema for endpoint in ENDPOINTS)})
    return {
        "openapi": "3.1.0",
        "jsonSchemaDialect": DIALECT,
        "info": {
            "title": "hotplace",
            "version": VERSION,
            "description": f"The documents that `hotplace COMMAND --json` prints, by hotplace {release}. Nothing can "
            "be changed here.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": PREFIX.rstrip("/")}],
        "security": [{"password": []}, {"certificate": []}],
        "paths": {f"/{endpoint.command}": {"get": _operation(endpoint)} for endpoint in ENDPOINTS},
        "components": {
            "securitySchemes": {
                "password": {"type": "http", "scheme": "basic", "description": "metrics.basic_auth"},
                "certificate": {"type": "mutualTLS", "description": "metrics.tls.client_ca"},
            },
            "schemas": _components({name: read_schema(name) for name in names}),
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    refused = {"content": {_JSON: {"schema": {"$ref": f"#/components/schemas/{ERROR}"}}}}
    return {
        "operationId": endpoint.command,
        "summary": endpoint.what,
        "parameters": [_parameter(parameter) for parameter in endpoint.parameters],
        "responses": {
            "200": {
                "description": endpoint.what,
                "content": {_JSON: {"schema": {"$ref": f"#/components/schemas/{endpoint.schema}"}}},
            },
            **{code: {"description": why, **({} if code == "401" else refused)} for code, why in _REFUSED.items()},
        },
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    limits = {"maxLength": parameter.most} if parameter.kind is Kind.TEXT else {"minimum": 1, "maximum": parameter.most}
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.what,
        "schema": {"type": parameter.kind.value, **limits},
    }


def _components(schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Schemas by name, and the parts that they share: a part of one name is the same in each file."""
    found: dict[str, Any] = {}
    for name, schema in schemas.items():
        found |= {f"part-{part}": _relink(inner) for part, inner in schema.get("$defs", {}).items()}
        found[name] = _relink({key: value for key, value in schema.items() if key not in {"$schema", "$defs"}})
    return dict(sorted(found.items()))


def _relink(value: Any) -> Any:  # noqa: ANN401 (whatever a schema holds)
    """A part of a schema with its references led to the components."""
    if isinstance(value, dict):
        return {
            key: str(inner).replace("#/$defs/", "#/components/schemas/part-") if key == "$ref" else _relink(inner)
            for key, inner in value.items()
        }
    return [_relink(inner) for inner in value] if isinstance(value, list) else value
