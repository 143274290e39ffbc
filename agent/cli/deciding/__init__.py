"""Commands about proposals: show, approve, reject, strike, undo, report."""
