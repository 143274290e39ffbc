"""Values that the shell completes: units, proposals, moves, spaces and databases, from ledger and configuration alone.

Answered before anything else is imported: a person waits for each press of the key. Names of commands and options are
completed by typer, whose scripts for the shells call both.
"""
