"""From what was sampled to a proposal, an undo among them."""
