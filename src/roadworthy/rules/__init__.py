"""Rules: testing rules in plain English become relations, changed images and verdicts.

::

    rule = parse("If a pedestrian appears on the roadside, the ego-vehicle should slow down at least 30%.")
    rule.blocks[0].changes[0].target                # 'pedestrian'
    rule.blocks[0].expectation.holds(10.0, 6.5)     # True
"""

from __future__ import annotations

from roadworthy.errors import RuleError
from roadworthy.rules.files import read_rules
from roadworthy.rules.language.parser import parse, parse_all
from roadworthy.rules.reading import Rule

__all__ = ["Rule", "RuleError", "parse", "parse_all", "read_rules"]
