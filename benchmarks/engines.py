"""Learned engines beside the built-in transforms: nearness to the truth, violations of rules, and time.

- How near both come to the world's own render of the same change, with 95% intervals.
- Whether verdicts are those that the world's own render leads to, with both.
- The rules of the RMT paper with both, on the reference networks: how many frames violate each.
- Its Tables 10 and 11 with rain that was learned: a rule whose change several makers make, and a rule on top
  of the rain of each.
- Seconds for an image, on one core, and on a GPU where torch finds one. The paper needs 0.2 s and more.

ROADWORTHY_ENGINES names the engines file; without it, the engines that come with Roadworthy are taken.
ROADWORTHY_FRAMES is how many frames of the world each part uses.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks._measured import Beside, Measured
from roadworthy.cases import Dataset, Requirement
from roadworthy.datasets import WorldDataset, load
from roadworthy.errors import InputError, NotApplicable
from roadworthy.frames import Frame, Signals
from roadworthy.models import SystemUnderTest, load_model
from roadworthy.result_tables import ResultTable
from roadworthy.rules import parse, read_rules
from roadworthy.rules.generation import RulePlan, plan_for
from roadworthy.rules.method import RulesMethod
from roadworthy.rules.tables import (
    Tally,
    composition_table,
    model_table,
    read_tally,
    reasons_table,
    violation_table,
)
from roadworthy.runs import read_rows, run_several
from roadworthy.runs.executors import executor_for
from roadworthy.training.engines.pairs import CHANGES, PairSource, WorldChange, compared, interval, pair_of
from roadworthy.transforms import (
    Operation,
    ReplaceOperation,
    Transform,
    UserEngine,
    read_engines,
    transform_for,
)
from roadworthy.transforms.engines import SHIPPED
from roadworthy.transforms.learned import LearnedEngine, shipped_names
from roadworthy.transforms.learned.engine import NetworkBackend
from roadworthy.world import HELD_OUT_TRACK_NAMES

RULES = Path(__file__).resolve().parents[1] / "examples" / "rules" / "paper.rules"
MODELS = ("dave2", "epoch", "chauffeur")
FRAMES = int(os.environ.get("ROADWORTHY_FRAMES", "200"))
PROCESSES = min(16, os.cpu_count() or 1)
HELD_OUT = 9001  # the seed of scenes that no engine learned from, on tracks that none learned from
RAIN = "If: it rains, Then: the ego-vehicle should slow down."
PEDESTRIAN = "If: a pedestrian appears on the roadside, Then: the ego-vehicle should slow down."
SIZES = ((160, 320), (320, 640))
TIMES = 10
JUDGED = {  # what each change shall do to the answers, as the rules of the paper say
    "remove-line": "If: lane lines are removed from the road, Then: the steering angle should keep the same.",
    "building-to-tree": "If: buildings are replaced by trees, Then: the steering angle should keep the same.",
    "day-to-night": "If: the driving time changes into night, Then: the ego-vehicle should slow down.",
    "clear-to-rain": RAIN,
    "clear-to-snow": "If: it snows, Then: the ego-vehicle should slow down.",
    "summer-to-winter": "If: the season changes to winter, Then: the ego-vehicle should slow down.",
}

Tallies = dict[tuple[str, str], Tally]


def tried(plans: Mapping[str, RulePlan], systems: Sequence[SystemUnderTest], data: Dataset) -> Tallies:
    """Return what became of the frames of each rule with each model."""
    requirements = [Requirement(id, plan.rule.text, "rules") for id, plan in plans.items()]
    with tempfile.TemporaryDirectory() as folder, executor_for("processes", workers=PROCESSES) as executor:
        found = run_several(
            RulesMethod(plans),
            requirements,
            data,
            systems,
            out=Path(folder, "run"),
            batch_size=64,
            images="none",
            executor=executor,
        )
        return {
            (rule, system): read_tally(plans[rule], read_rows(result.folder))
            for (rule, system), result in found.results.items()
            if result.folder is not None
        }


def _show(tables: Iterable[ResultTable | None]) -> None:
    for table in tables:
        if table is not None:
            print(f"{table}\n")


def _print_truth(engines: Sequence[LearnedEngine]) -> None:
    source = PairSource(",".join(HELD_OUT_TRACK_NAMES), (HELD_OUT,), FRAMES)
    print(f"Distance to the world's truth: {source.name}, 95% intervals\n")
    heads = ("frames", "learned", "built in", "unchanged", "learned - built in", "nearer")
    print(f"{'':>24} " + " ".join(f"{head:>24}" for head in heads))
    for engine in engines:
        for change in CHANGES.values():
            if not engine.supports(change.operation):
                continue
            found = compared(change, engine, source, workers=PROCESSES)
            apart = found.distances["learned"] - found.distances["classical"]
            cells = [str(len(found))]
            for key in ("learned", "classical", "unchanged"):
                low, high = interval(found.distances[key])
                cells.append(f"{found.distances[key].mean():.3f} ({low:.3f} to {high:.3f})")
            low, high = interval(apart)
            cells.append(f"{apart.mean():+.3f} ({low:+.3f} to {high:+.3f})")
            cells.append("learned" if high < 0 else "built in" if low > 0 else "open")
            print(f"{engine.name:>24} " + " ".join(f"{cell:>24}" for cell in cells))
    print()


def _print_verdicts(engines: Sequence[LearnedEngine]) -> None:
    """Print how often a verdict is the one that the world's own render of the change leads to."""
    systems = [load_model(name, threads=1) for name in MODELS[:2]]  # those that see one frame alone
    data = WorldDataset(",".join(HELD_OUT_TRACK_NAMES), count=FRAMES, seed=HELD_OUT)
    print("Verdicts that are those of the world's own render, frames of held-out tracks, 95% intervals\n")
    heads = ("model", "frames", "violated, truth", "built in", "learned", "learned - built in")
    print(f"{'':>24} " + " ".join(f"{head:>22}" for head in heads))
    for engine in engines:
        for change in CHANGES.values():
            if engine.supports(change.operation):
                _print_verdicts_of(change, engine, systems, data)
    print()


def _print_verdicts_of(
    change: WorldChange, engine: LearnedEngine, systems: Sequence[SystemUnderTest], data: WorldDataset
) -> None:
    expectation = parse(JUDGED[change.name]).blocks[0].expectation
    makers = {"built in": change.transform(), "learned": engine.transform(change.operation)}
    held: dict[tuple[str, str], list[bool]] = {}
    for number in range(len(data)):
        try:
            pair = pair_of(change, data, number, (160, 320))
            made = {name: maker(pair.before, number, measure=False) for name, maker in makers.items()}
        except NotApplicable:
            continue
        names, frames = zip(*{"before": pair.before, "truth": pair.truth, **made}.items(), strict=True)
        for system in systems:
            told = [one for one in system.predict(list(frames)) if isinstance(one, Signals)]
            answers = [one.as_dict()[expectation.output] for one in told]
            for name, answer in zip(names, answers, strict=True):
                held.setdefault((system.name, name), []).append(expectation.holds(answers[0], answer))
    for system in systems:
        truth = np.array(held[system.name, "truth"])
        same = {name: (np.array(held[system.name, name]) == truth).astype(float) for name in makers}
        low, high = interval(same["learned"] - same["built in"])
        cells = [system.name, str(len(truth)), f"{1 - truth.mean():.1%}"]
        cells += [f"{one.mean():.1%}" for one in same.values()]
        cells.append(f"{(same['learned'] - same['built in']).mean():+.1%} ({low:+.1%} to {high:+.1%})")
        print(f"{change.name:>24} " + " ".join(f"{cell:>22}" for cell in cells))


def _print_rules(engines: Sequence[UserEngine], systems: Sequence[SystemUnderTest], data: Dataset) -> None:
    """Print how many frames violate each rule, its change made by what is built in and by engines."""
    plans: dict[str, RulePlan] = {}
    for one in read_rules(RULES):
        rule = parse(one.text)
        classical, learned = plan_for(rule), plan_for(rule, engines)
        plans[one.id] = classical
        # Additions are made by cut-outs either way.
        if learned.scenarios != classical.scenarios:
            plans[f"{one.id}, learned"] = learned
    models = [one.name for one in systems]
    tallies = tried(plans, systems, data)
    title = f"Rules of the RMT paper on {data.name}: built in, and learned where an engine does the change"
    _show([violation_table(title, list(plans), models, tallies), reasons_table(list(plans), models, tallies)])


def _print_rain(engines: Sequence[UserEngine], systems: Sequence[SystemUnderTest], data: Dataset) -> None:
    """Print Tables 10 and 11 with rain that was learned."""
    operation = ReplaceOperation("weather", "rain")
    learned = next((one for one in engines if one.supports(operation)), None)
    if learned is None:
        print("Tables 10 and 11: none of the engines makes rain\n")
        return
    makers: dict[str, Transform] = {
        "built in": transform_for(operation),
        learned.name: learned.transform(operation),
    }
    models = [one.name for one in systems]
    plan = plan_for(parse(RAIN))
    plans = {name: plan.made_by(maker) for name, maker in makers.items()}
    _show([model_table("Table 10, slower in rain", models, list(plans), tried(plans, systems, data))])
    upon = plan_for(parse(PEDESTRIAN))
    print("Table 11")
    firsts = {f"after {name}": f"rain ({name})" for name in makers}
    plans = {f"after {name}": upon.after(maker) for name, maker in makers.items()}
    _show([composition_table("R1", models, firsts, tried(plans, systems, data))])


def _seconds(change: Transform, frames: Sequence[Frame]) -> float | None:
    """Return the seconds for a frame, the median; None if none qualifies."""
    spent = []
    for number in range(TIMES):
        frame = frames[number % len(frames)]
        start = time.perf_counter()
        try:
            change(frame, number, measure=False)
        except NotApplicable:
            continue
        spent.append(time.perf_counter() - start)
    return float(np.median(spent)) if spent else None


def _print_speed(engines: Sequence[LearnedEngine]) -> list[Measured]:
    rows = []
    print("Seconds for an image, one core, without measuring the visual change; on a GPU the network alone\n")
    heads = ("size", "learned", "built in", "GPU, 1 image", "GPU, of 32")
    print(f"{'':>24} " + " ".join(f"{head:>14}" for head in heads))
    for engine in engines:
        for support in engine.supported:
            operation = support.asked()
            if operation is None:
                continue
            for height, width in SIZES:
                frames = list(load("world", count=TIMES, size=f"{width}x{height}"))
                found = [
                    _seconds(engine.transform(operation), frames),
                    _seconds(transform_for(operation), frames) if _is_built_in(operation) else None,
                ]
                told = ["none" if one is None else f"{one:.4f}" for one in found]
                cells = [f"{width}×{height}", *told]
                rows.append(_row(f"{engine.name}, {width}×{height}", *found))
                cells += [_on_gpu(engine, height, width, batch) for batch in (1, 32)]
                print(f"{engine.name:>24} " + " ".join(f"{cell:>14}" for cell in cells))
    print()
    return rows


def _is_built_in(operation: Operation) -> bool:
    try:
        transform_for(operation)
    except InputError:
        return False
    return True


def _row(name: str, learned: float | None, built_in: float | None) -> Measured:
    beside = Beside("built in", built_in, built_in / learned) if learned and built_in else None
    return Measured(name, learned, "s an image", beside, note="" if learned else "no frame qualifies")


def _on_gpu(engine: LearnedEngine, height: int, width: int, batch: int) -> str:
    """Return the seconds for an image of the network on a GPU, with torch."""
    try:
        import torch
    except ImportError:
        return "no torch"
    if not torch.cuda.is_available():
        return "no GPU"
    from roadworthy.training.engine_networks.checkpoint import read_checkpoint

    assert isinstance(engine.backend, NetworkBackend)
    try:
        found, fit = read_checkpoint(engine.backend.files[1]), engine.backend.fit(height, width)
    except (InputError, NotApplicable):  # made by another program, or too small
        return "not run"
    network = found.network().cuda()
    given = torch.rand(batch, found.settings.channels, *fit.padded, device="cuda") * 2 - 1
    spent = []
    with torch.inference_mode():
        for _ in range(TIMES):
            torch.cuda.synchronize()
            start = time.perf_counter()
            network(given)
            torch.cuda.synchronize()
            spent.append(time.perf_counter() - start)
    # The first ones look for the fastest way to do it.
    return f"{np.median(spent) / batch:.5f}"


def main() -> list[Measured]:
    file = os.environ.get("ROADWORTHY_ENGINES", SHIPPED)
    if file == SHIPPED and not shipped_names():
        print("No learned engines are shipped: set ROADWORTHY_ENGINES to an engines file\n")
        return [Measured("An image of a learned engine", None, "s", note="no learned engine is shipped")]
    engines = [one for one in read_engines(file) if isinstance(one, LearnedEngine)]
    _print_truth(engines)
    _print_verdicts(engines)
    systems = [load_model(name, threads=1) for name in MODELS]
    data = load("world", count=FRAMES, history=4)
    _print_rules(engines, systems, data)
    _print_rain(engines, systems, data)
    return _print_speed(engines)
