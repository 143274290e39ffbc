"""The proof of an engine whose claims have a package of their own, imported with the first use: it needs the driver."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from connectors.proving.proof import Proof


def proof_of_package(package: str, routes: tuple[str, ...]) -> Proof:
    """The proof by ``PACKAGE.proof`` (its functions are called as the fields are) and ``PACKAGE.session.open_session``.

    Args:
        package: of the engine's claims.
        routes: names of all ways to move something.
    """

    def texts() -> ModuleType:
        return import_module(f"{package}.proof")

    def open_session(*given: Any) -> Any:  # noqa: ANN401 (settings and session are of a module not yet imported)
        return import_module(f"{package}.session").open_session(*given)

    return Proof(
        cases=lambda scratch: texts().cases(scratch),
        questions=lambda scratch: texts().questions(scratch),
        queries=lambda: texts().queries(),
        of_other_versions=lambda version: texts().of_other_versions(version),
        open_session=open_session,
        routes=routes,
    )
