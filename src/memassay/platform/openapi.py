"""The OpenAPI 3.1 document of an interface, made from its endpoints and their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from memassay.platform import problems
from memassay.platform.errors import Code, PlatformError
from memassay.platform.routing import Endpoint
from memassay.version import __version__

_COMPONENTS = "#/components/schemas/{model}"
_SAYS = {
    400: "What was sent is not what the operation takes.",
    401: "No key, or an unknown one.",
    403: "The key's roles do not allow this.",
    404: "There is no such thing.",
    409: "Not in the state that the thing is in now.",
    413: "The body is too long.",
    415: "The body is not JSON.",
    422: "It cannot be done.",
    429: "The user has made all the calls of a minute.",
    503: "The machine stands in the way: disk full, file busy or damaged.",
}


def document(endpoints: Sequence[Endpoint], base: str) -> dict[str, Any]:
    """The document.

    Args:
        endpoints: of the interface.
        base: the path before theirs, such as ``/api/v1``.
    """
    wanted: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {(problems.Problem, "serialization"): None}
    for endpoint in endpoints:
        wanted[endpoint.gives, "serialization"] = None
        if endpoint.body is not None:
            wanted[endpoint.body, "validation"] = None
    names, schemas = models_json_schema(list(wanted), ref_template=_COMPONENTS)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, names)
    return {
        "openapi": "3.1.0",
        "info": {"title": "memassay platform", "version": __version__},
        "servers": [{"url": base}],
        "security": [{"bearer": []}, {"key": []}],
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
    }


def _operation(endpoint: Endpoint, names: dict[Any, Any]) -> dict[str, Any]:
    problem = {problems.MEDIA_TYPE: {"schema": names[problems.Problem, "serialization"]}}
    answers = {
        str(endpoint.status): {
            "description": "Done.",
            "content": {"application/json": {"schema": names[endpoint.gives, "serialization"]}},
        }
    }
    answers |= {str(status): {"description": _SAYS[status], "content": problem} for status in _refusals(endpoint)}
    seconds = {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}}
    answers["429"]["headers"] = {"Retry-After": seconds}
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.says,
        "parameters": [*_path(endpoint), *_query(endpoint)],
        "responses": answers,
    }
    if endpoint.body is not None:
        content = {"application/json": {"schema": names[endpoint.body, "validation"]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _refusals(endpoint: Endpoint) -> list[int]:
    """Every status with a problem document that the endpoint can answer."""
    codes: set[Code] = {"unauthenticated", "rate_limited", "invalid", "unavailable", *endpoint.refuses}
    if endpoint.role != "anyone":
        codes.add("unauthorized")
    statuses = {PlatformError(code, "").status for code in codes}
    return sorted(statuses | ({413, 415} if endpoint.body is not None else set()))


def _path(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": part[1:-1], "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for part in endpoint.path.split("/")
        if part.startswith("{")
    ]


def _query(endpoint: Endpoint) -> list[dict[str, Any]]:
    """Parameters of the query; one that may be None may be left out, and is never null."""
    if endpoint.query is None:
        return []
    schema = endpoint.query.model_json_schema()
    parameters = []
    for name, about in schema["properties"].items():
        kinds = [kind for kind in about.pop("anyOf", ()) if kind != {"type": "null"}]
        plain = {key: value for key, value in about.items() if key != "title" and value is not None}
        required = name in schema.get("required", ())
        parameters.append({"name": name, "in": "query", "required": required, "schema": plain | dict(*kinds)})
    return parameters
