"""Single parts of the agent and the vocabulary, by hand-worked examples."""
