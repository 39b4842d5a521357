"""Box formats of other tools: lines, documents, targets; `Boxes.from_…` and `Boxes.to_…` use them."""
