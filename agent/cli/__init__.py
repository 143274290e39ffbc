"""The command line: one module for each command or few.

``commands`` is the table of all commands, ``app`` the frame around each (common options, errors, exit codes),
``session`` what a command works with, ``main`` the entry point.

A command's module imports at the top what every run of it needs; what plans, serves, draws pages or talks to a
database is imported in the function that needs it. Imports are most of what a short command costs, and scripts call
such commands often. ``tests/cli/test_help.py`` lists what the help and the commands that only read the ledger must not
import.
"""
