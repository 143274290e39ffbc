"""What concerns several databases of a ledger at once: lists of approvals, and the view over all of them."""
