"""The SQLite file under the ledger: opening, tables, columns as bytes, upkeep."""
