"""Every reader and language that is fuzzed, a module for each room."""

from __future__ import annotations

from tests.fuzz.harness import Target
from tests.fuzz.targets import (
    datasets,
    drives,
    languages,
    learned,
    networks,
    pages,
    people,
    runs,
    settings_files,
    web,
)

__all__ = ["TARGETS"]

TARGETS: dict[str, Target] = {
    one.name: one
    for module in (
        *(languages, settings_files, datasets, drives, people),
        *(networks, learned, runs, pages, web),
    )
    for one in module.TARGETS
}
