"""The daemon: watches, schedule, metrics, HTTP, notices, the doctor, and all databases of a ledger."""
