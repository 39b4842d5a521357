"""What programs of the package do first."""

from __future__ import annotations

import subprocess
import sys

import pytest

_RULE = """
import importlib.util
import sys
from types import ModuleType
from roadworthy._starting import spare_torch

spare_torch()
spare_torch()  # once is enough
sys.modules["thinc.compat"] = ModuleType("half loaded, by another thread")
print(importlib.util.find_spec("torch") is not None)
del sys.modules["thinc.compat"]
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
    found, rule, loaded, usable = shown.stdout.splitlines()
    assert "rainy" in rule
    assert (found, loaded, usable) == ("True", "False", "2.0 1")
