"""The page of ``hotplace report --html``: its figures, its pictures, and how a browser shows it."""
