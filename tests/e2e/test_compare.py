"""The page Compare in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e.looking import faint_texts, nameless_controls, overhang, wait_for_pictures
from tests.web.test_compare import rows

from tests.report.runs_for_reports import add

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page
    from tests.e2e.conftest import Server

Window = Callable[..., "Page"]
