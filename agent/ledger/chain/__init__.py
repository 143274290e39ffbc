"""The audit chain, its anchors outside the ledger, and whether a move may be trusted because of them."""
