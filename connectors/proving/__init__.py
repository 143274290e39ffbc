"""Cases, questions and sessions of ``hotplace lab prove``, for all engines."""
