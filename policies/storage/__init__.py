"""What storage can do and costs: limits, prices, queues, closed networks."""
