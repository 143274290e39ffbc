"""How SQL Server is proved."""

from __future__ import annotations

from connectors.proving.of_package import proof_of_package

ROUTES = (
    "rebuild online",
    "rebuild offline",
    "heap by a clustered index online",
    "heap by a clustered index offline",
    "rebuild on a second partition scheme online",
    "rebuild on a second partition scheme offline",
    "rebuild on its own partition scheme online",
    "rebuild on its own partition scheme offline",
    "rebuild through a partition scheme online",
    "rebuild through a partition scheme offline",
    "index beside the old one, resumable",
)
PROOF = proof_of_package("connectors.sqlserver.claims", ROUTES)
