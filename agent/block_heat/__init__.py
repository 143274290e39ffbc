"""Heat inside units: which units are worth looks at the buffer pool, the looks, and what the ledger keeps of them."""
