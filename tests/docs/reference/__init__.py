"""The generated parts of docs/pages: what the code says about commands, keys, metrics, verdicts, states, alerts, codes.

A page marks such a part with ``<!-- generated: NAME -->`` and ``<!-- end -->``; everything else on it is written by
hand. ``python -m tests.docs.reference`` (``make docs-write``) writes the parts again, and a test compares them.
"""
