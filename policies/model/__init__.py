"""The types of a decision: settings, calendar, situation, moves, plan, and how sure a figure is."""
