"""How Oracle is proved."""

from __future__ import annotations

from connectors.proving.of_package import proof_of_package

ROUTES = ("move online", "move", "rebuild online", "rebuild")
PROOF = proof_of_package("connectors.oracle.claims", ROUTES)
