"""What a browser and programs may ask the daemon over HTTP: the live page and the documents of ``--json``."""
