"""The words of the agent: states, proposals, outcomes, purposes, units of measure, the clock. No behaviour."""
