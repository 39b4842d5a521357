"""Box formats of other tools, one module each; `Boxes.from_…` and `Boxes.to_…` are the way in and out."""
