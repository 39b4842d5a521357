"""What words mean, by WordNet 3.0: how alike two words are, and which element of the ontology a noun means.

The lexicon comes from WordNet 3.0, Copyright 2006 by Princeton University; its licence stands beside it in
the file LICENSE and holds for `lexicon.json.gz`. Nothing is read before the first question.

Example:
    >>> from roadworthy.rules.wordnet.elements import match_element
    >>> from roadworthy.rules.wordnet.lexicon import wup
    >>> match_element("limousine").element
    'vehicle'
    >>> round(wup("person.n.01", "pedestrian.n.01"), 3)
    0.889
"""

from __future__ import annotations

__all__ = []
