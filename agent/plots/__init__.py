"""Plots as static SVG, drawn by the library leather: of reports, of the sizing curve, and of the documentation."""
