"""Scripts and examples as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def load_file(path: Path) -> ModuleType:
    """Return the module in a file that is in no package."""
    # Not its own name: pytest wants to rewrite modules that come with its plugins, examples among them, and
    # tests of the plugin take its warning that one is imported already for an error.
    name = f"loaded_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look there for the module that they are in
    spec.loader.exec_module(module)
    return module
