"""Several agents, each with a standby, over one ledger on a real PostgreSQL: killed, frozen, cut off, the ledger lost.

``make fault-simulation ARGS="--fleet --seeds 300"`` runs many.
"""
