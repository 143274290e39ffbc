"""The solver: a knapsack problem with prices, in numbers alone."""
