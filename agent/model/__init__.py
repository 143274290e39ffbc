"""The words of the agent: states, proposals, outcomes, approvals, signatures, clock, log and answers."""
