"""Tests by kind: unit, property, contract, labs (real servers), e2e, bench. ``make test`` runs all but bench."""
