"""How PostgreSQL is proved."""

from __future__ import annotations

from connectors.proving.of_package import proof_of_package

ROUTES = ("set tablespace", "reindex concurrently")
PROOF = proof_of_package("connectors.postgresql.claims", ROUTES)
