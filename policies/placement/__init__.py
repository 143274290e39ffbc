"""From a situation to an ordered plan: the solver, the balancer and its modes, sizing, and why."""
