"""The demo's laboratory: disk model, schema, load."""
