"""From a situation to an ordered plan: placement state, ordering, swaps, granularity, balancer."""
