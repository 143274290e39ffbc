"""Small versions of the laboratory's experiments 1, 6 and 7 (tests/bench/lab), with loose bounds."""
