"""How Db2 is proved. Whole table spaces are not: only SYSCTRL may alter one, and such a login is refused."""

from __future__ import annotations

from connectors.proving.of_package import proof_of_package

ROUTES = ("admin_move_table", "admin_move_table by load", "admin_move_table without its foreign keys")
PROOF = proof_of_package("connectors.db2.claims", ROUTES)
