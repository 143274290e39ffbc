"""Cases, questions and sessions of ``hotplace prove``, for all engines."""
