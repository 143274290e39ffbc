"""Why a plan says what it says, kept for later readers: decisions, ranking, advice, pins."""
