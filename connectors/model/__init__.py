"""The words that hotplace has for databases, storage and moves: frozen dataclasses that know nothing of any engine."""
