"""An emulated Db2: Apache Derby behind a DRDA shim, reached with IBM's real driver. See README.md."""

from __future__ import annotations

from functools import partial

from tests.contract.harness import HarnessFactory

VERSIONS = ("11.5",)


def contract_harnesses() -> dict[str, HarnessFactory]:
    """One for each way of moving. Starts nothing, and needs no driver before it is entered."""
    from tests.labs.db2.harness import running_spaces, running_tables

    kinds = {"tables": running_tables, "table spaces": running_spaces}
    return {
        f"db2 {version} emulated server, {kind}": partial(running, version)
        for version in VERSIONS
        for kind, running in kinds.items()
    }
