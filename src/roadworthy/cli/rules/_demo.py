"""The paper's seven rules on networks that come with the package: the main part of the demonstration."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from roadworthy.cli.rules._inputs import opened_models, processes_for
from roadworthy.cli.rules._running import RESULT_FILE, Campaign, write_document
from roadworthy.cli.rules._sheets import write_sheets
from roadworthy.errors import InputError

if TYPE_CHECKING:
    from roadworthy.rules.tables import ResultTable

__all__ = ["RulesTried", "try_paper_rules"]

MODELS = ("dave2", "epoch")
FRAMES = 60
_WORST = 4


@dataclass(frozen=True)
class RulesTried:
    """What came of it: the rules by their ids, the table of violations, the sheets, and all for scripts."""

    rules: dict[str, str]
    table: ResultTable
    sheets: list[Path]
    document: dict[str, object]


def try_paper_rules(out: Path, frames: int = FRAMES) -> RulesTried:
    """Try the seven rules on frames of the built-in world, and write rows, tables and the worst violations.

    Args:
        out: The folder to write into. One that an earlier demonstration wrote is replaced.
        frames: How many frames.

    Raises:
        InputError: The folder holds something else.
    """
    from roadworthy.datasets import load
    from roadworthy.rules import parse
    from roadworthy.rules.generation import plan_for
    from roadworthy.rules.tables import violation_table
    from roadworthy.rules.truth_rules import TRUTH_RULES

    if out.exists():
        if not (out / RESULT_FILE).is_file():
            raise InputError(f"{out} is not from an earlier demonstration: choose another --out")
        shutil.rmtree(out)
    rules = {rule.id: rule.text for rule in TRUTH_RULES if rule.id in {f"R{n}" for n in range(1, 8)}}
    plans = {id: plan_for(parse(text)) for id, text in rules.items()}
    systems = opened_models(MODELS)
    campaign = Campaign(plans, systems, load("world", count=frames, seed=5), out)
    found = campaign.run(images="failures", passes=0, processes=processes_for(None, campaign.images))
    table = violation_table("Frames that violate a rule", list(plans), campaign.models, campaign.tallies)
    document = campaign.document(found)
    sheets = write_sheets(campaign, found, _WORST)
    write_document(out, document | {"sheets": sheets}, [table])
    return RulesTried(rules, table, [out / one for one in sheets], document)
