"""From a picture to proposals: situation, routes, templates, splits, undo, and the explanation of decisions."""
