"""A ledger on PostgreSQL: sessions, transactions and locks, opening, and what the server does by its own means."""
