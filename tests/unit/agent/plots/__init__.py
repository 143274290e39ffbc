"""Static SVG: axes and shapes."""
