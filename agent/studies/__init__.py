"""Studies that change nothing: sizing, simulation, assessments of files, recordings, and proofs on a scratch schema."""
