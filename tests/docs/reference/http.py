"""What is served over HTTP, and which schemas there are."""

from __future__ import annotations

from agent.pages.site import ENDPOINTS, PREFIX, Parameter, ParameterKind, schema_names
from tests.docs.reference.blocks import table


def blocks() -> dict[str, str]:
    """A table of the endpoints, and the names of all schemas."""
    rows = [
        (f"`{PREFIX}{each.command}`", each.what, "; ".join(_asked(parameter) for parameter in each.parameters))
        for each in ENDPOINTS
    ]
    return {
        "endpoints": table(("GET", "what", "what may be asked"), rows),
        "schemas": ", ".join(f"`{name}`" for name in schema_names()) + ".",
    }


def _asked(parameter: Parameter) -> str:
    limit = f", 1 to {parameter.most}" if parameter.kind is ParameterKind.NUMBER and parameter.most < 10**6 else ""
    return f"`{parameter.name}`{' (needed)' if parameter.required else ''}{limit}"
