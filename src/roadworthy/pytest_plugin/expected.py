"""Requirements that are known to be violated: pytest's xfail, strict and with a reason."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest


class RequirementViolated(Exception):  # noqa: N818 - it is what a test found, no error of the plugin
    """A requirement does not hold, or was not shown to; the message is what the test prints."""


@dataclass(frozen=True)
class Expected:
    """One line of ``roadworthy_xfail``.

    Attributes:
        pattern: Which tests: ``R3``, ``R3[dave2]`` or ``paper.rules::R3[dave2]``; ``*`` stands for anything.
        reason: Why they fail.
    """

    pattern: str
    reason: str

    def fits(self, item: pytest.Item) -> bool:
        """Return whether a test is meant."""
        id = getattr(item, "requirement_id", None)
        if id is None:
            return False
        names = (id, item.name)
        file = item.path.name
        known = {*names, *(f"{file}::{one}" for one in names), item.nodeid, item.nodeid.rpartition("[")[0]}
        # Brackets belong to the names of tests, so that they are no sets of letters here.
        wanted = re.compile(".*".join(map(re.escape, self.pattern.split("*"))))
        return any(wanted.fullmatch(one) for one in known)


def read_expected(lines: list[str]) -> list[Expected]:
    """Read the lines of ``roadworthy_xfail``.

    Raises:
        pytest.UsageError: A line gives no reason.

    Example:
        >>> read_expected(["R3[dave2]: does not see cyclists, issue 12"])
        [Expected(pattern='R3[dave2]', reason='does not see cyclists, issue 12')]
    """
    found = []
    for line in lines:
        pattern, colon, reason = line.partition(": ")
        if not colon or not pattern.strip() or not reason.strip():
            raise pytest.UsageError(
                "roadworthy_xfail: expected a requirement, a colon and the reason, such as 'R3[dave2]: does "
                f"not see cyclists', got {line!r}"
            )
        found.append(Expected(pattern.strip(), reason.strip()))
    return found


def mark_expected(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that are expected to fail.

    Only a violation is expected: a model that cannot be opened or a rule that is not understood still fails.
    A test that passes in spite of it fails as well, so that the list stays true.
    """
    for one in read_expected(config.getini("roadworthy_xfail")):
        meant = [item for item in items if one.fits(item)]
        for item in meant:
            item.add_marker(
                pytest.mark.xfail(reason=one.reason, strict=True, raises=RequirementViolated), append=False
            )
        # Where files were chosen on the command line, other tests may be meant.
        if not meant and config.args_source is not pytest.Config.ArgsSource.ARGS:
            _warn(config, f"roadworthy_xfail names {one.pattern!r}, and no test is called so: remove it")


def _warn(config: pytest.Config, message: str) -> None:
    try:
        config.issue_config_time_warning(pytest.PytestConfigWarning(message), stacklevel=3)
    except pytest.PytestConfigWarning:
        # Warnings are errors in this project; this one is the user's, not a bug.
        raise pytest.UsageError(message) from None
