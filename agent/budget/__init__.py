"""What moves cost and may use: windows and caps, copies in the journal, what earlier moves taught."""
