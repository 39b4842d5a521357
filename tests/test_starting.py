"""What programs of the package do first."""

from __future__ import annotations

import subprocess
import sys

import pytest

_RULE = """
import sys
from roadworthy._starting import spare_torch

spare_torch()
spare_torch()  # once is enough
from roadworthy.rules import parse

print(parse("If it rains, slow down."))
print("torch" in sys.modules)
import torch

ours = [one for one in sys.meta_path if type(one).__module__ == "roadworthy._starting"]
print(torch.ones(2).sum().item(), len(ours))
"""


def test_a_rule_is_read_without_torch_and_torch_is_there_afterwards() -> None:
    pytest.importorskip("torch")
    shown = subprocess.run([sys.executable, "-c", _RULE], capture_output=True, text=True, check=True)
    rule, loaded, usable = shown.stdout.splitlines()
    assert "rainy" in rule
    assert (loaded, usable) == ("False", "2.0 1")
