"""What is known of units and storage: demand, queues, prices of waits, costs of moves, and heat inside a unit."""
