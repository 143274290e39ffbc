"""What deploy/ ships agrees with what the agent is."""
