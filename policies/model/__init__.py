"""The words of a decision: settings, situation, verdicts, moves, plan, confidence intervals."""
