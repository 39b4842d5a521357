"""Makes the learned engines that come with the package, on a GPU: one command, fixed seeds, a budget of time.

::

    python -m scripts.engines.make_engines --out engines --workers 16 --minutes 7

Each engine becomes a folder with ``engine.onnx`` and ``card.json``. It learns from pairs of the built-in
world: a frame, and the world's own render of the change. Several variants learn one after the other, such as
one that starts from what the classical transform makes; the one that comes nearest to the truth of validation
frames, from other seeds, is kept. It is then compared with the classical transform on tracks that are held
out. All engines are made at the same time, each in a process of its own. Those that do not ship, such as
from summer to winter, are made by ``--only``.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import sys
import time
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path

from scripts.engines.recipes import QUICK, RECIPES, Effort

from roadworthy.errors import InputError, RoadworthyError, suggest


def _made(name: str, out: Path, data: Path, effort: Effort, workers: int, device: str) -> int:
    """Make an engine, and return the exit code."""
    # torch is loaded here, and not by the processes that render: these import the module that is run.
    from scripts.engines.making import make

    try:
        make(name, out, data=data, effort=effort, workers=workers, device=device)
    except RoadworthyError as error:
        sys.stderr.write(f"Error: {name}: {error}\n")
        return 2
    return 0


def _in_process(*given: object) -> None:
    sys.exit(_made(*given))  # type: ignore[arg-type]


def _effort(given: argparse.Namespace, began: float) -> Effort:
    from scripts.engines.making import fastest

    from roadworthy.training.loop import chosen_device

    effort = QUICK if given.quick else Effort(given.minutes, given.pairs, batch=given.batch)
    if given.written_by is not None:
        effort = dataclasses.replace(effort, until=began + 60 * given.written_by)
    on_gpu = chosen_device(given.device).type == "cuda"
    return fastest(effort, given.device) if on_gpu and not given.quick else effort


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    began = time.time()
    parser = argparse.ArgumentParser(prog="make_engines", description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder to write into")
    shipped = [name for name, recipe in RECIPES.items() if recipe.ships]
    parser.add_argument(
        "--only",
        default="",
        help=f"some of {', '.join(RECIPES)}, joined by commas; {', '.join(shipped)} when left out",
    )
    parser.add_argument("--data", type=Path, help="where to keep rendered pairs; in --out when left out")
    parser.add_argument("--keep-data", action="store_true", help="do not delete the pairs at the end")
    parser.add_argument("--workers", type=int, default=1, help="processes that render, all engines together")
    parser.add_argument("--minutes", type=float, default=Effort.minutes, help="that each engine learns")
    parser.add_argument(
        "--written-by",
        type=float,
        metavar="MINUTES",
        help="from the start; engines learn less where rendering took long; the comparison comes after it",
    )
    parser.add_argument("--pairs", type=int, default=Effort.pairs, help="rendered for each engine")
    parser.add_argument("--batch", type=int, default=Effort.batch, help="images at a time")
    parser.add_argument("--device", default="auto", help="cpu, cuda:0, …")
    parser.add_argument("--quick", action="store_true", help="a tiny amount, as a smoke test")
    given = parser.parse_args(arguments)
    names = [one for one in given.only.split(",") if one] or shipped
    unknown = [one for one in names if one not in RECIPES]
    if unknown:
        sys.stderr.write(f"Error: there is no recipe {unknown[0]!r}: {suggest(unknown[0], RECIPES)}\n")
        return 2
    try:
        effort = _effort(given, began)
    except InputError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 2
    data = given.data or given.out / "pairs"
    rest = (given.out, data, effort, max(1, given.workers // len(names)), given.device)
    if len(names) == 1:
        code = _made(names[0], *rest)
    else:
        context = get_context("spawn")
        jobs = [context.Process(target=_in_process, args=(name, *rest)) for name in names]
        for job in jobs:
            job.start()
        for job in jobs:
            job.join()
        code = 0 if all(job.exitcode == 0 for job in jobs) else 2
    if not given.keep_data:
        shutil.rmtree(data, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
