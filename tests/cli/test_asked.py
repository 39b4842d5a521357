"""What commands ask of the rest of the package when every option is given, and when none is: kept whole.

What they call is replaced by something that writes down how it is called and answers with itself. It takes
only what the replaced one takes: a misspelt keyword is a TypeError, and the command should not have it.
"""

# ruff: noqa: E501 - commands with all that they take are long

from __future__ import annotations

import importlib
import pkgutil
import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import is_dataclass
from inspect import signature
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import pytest
from tests.kept import as_kept
from typer.testing import Result

import roadworthy
from roadworthy.cli._answer import Answer

KEPT = Path(__file__).with_name("kept")
HOW = (
    "--executor ray --workers 3 --address auto --timeout 9 --images all --gate off --no-resume "
    "--accept-inconclusive --allow-commands --out there"
)
TESTED = "--model dave2 --model epoch -d world:town -o count=9 -o seed=2 -n 5 --clusters frame --seed 7"


MANY = {
    "ranking_of()": 2, "find_each()": 2, "draw_cases()": 2, "drives_in()[0]": 2,
    "study_guided()": 2, "spread_frames()": 2, "summarize()": 2,
}  # fmt: skip
"""What is taken apart has so many parts."""


class Asked(str):
    """Stands for anything: writes down what it is called with, and answers with itself."""

    _log: list[str]

    def __new__(cls, name: str, log: list[str], **parts: Any) -> Asked:
        made = super().__new__(cls, name)
        made.__dict__.update(parts, _log=log)
        return made

    def __call__(self, *given: Any, **named: Any) -> Asked:
        if (replaced := self.__dict__.get("_replaced")) is not None:
            signature(replaced).bind(*given, **named)
        words = [*map(told, given), *(f"{name}={told(value)}" for name, value in named.items())]
        self._log.append(f"  {self!s}({', '.join(words)})")
        return Asked(f"{self!s}()", self._log)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name in ("keys", *object.__getattribute__(self, "__dict__")):
            return object.__getattribute__(self, name)
        replaced = getattr(self.__dict__.get("_replaced"), name, None)
        # Of a class, what is called without an object: a method wants one.
        known = {"_replaced": replaced} if isinstance(replaced, MethodType) else {}
        return Asked(f"{self!s}.{name}", self._log, **known)

    def keys(self) -> list[str]:
        return [str(self), "notes"]

    def __getitem__(self, key: Any) -> Any:
        return Asked(f"{self!s}[{told(key)}]", self._log)

    def __iter__(self) -> Iterator[Any]:
        many = 2 if str(self).endswith("items()[0]") else MANY.get(str(self), 1)
        yield from (Asked(f"{self!s}[{place}]", self._log) for place in range(many))

    def __len__(self) -> int:
        return 1000

    def __format__(self, how: str) -> str:
        return f"{self!s}:{how}" if how else str(self)

    def __enter__(self) -> Asked:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def __add__(self, other: Any) -> Any:
        return self

    def __radd__(self, other: Any) -> Any:
        return other

    def __rmul__(self, other: Any) -> Any:
        return other

    def __rtruediv__(self, other: Any) -> Any:
        return 0.5

    def __truediv__(self, other: Any) -> Any:
        return Asked(f"{self!s}/{other}", self._log)

    def __sub__(self, other: Any) -> Any:
        return self

    def __ge__(self, other: Any) -> bool:
        return True

    __gt__ = __ge__


def told(value: Any) -> str:
    """Return a value as it is kept."""
    if isinstance(value, Asked):
        return str(value)
    if type(value).__name__ in ("Variant", "Transformation"):
        return f"{type(value).__name__}({value.name})"
    if isinstance(value, FunctionType | MethodType) or type(value).__name__ in ("function", "partial"):
        return "function"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{told(key)}: {told(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(map(told, value))})"
    if isinstance(value, Path):
        return f"<{value}>"
    if is_dataclass(value) and not isinstance(value, type):
        parts = [f"{name}={told(one)}" for name, one in vars(value).items() if not name.startswith("_")]
        return f"{type(value).__name__}({', '.join(parts)})"
    return value.__name__ if isinstance(value, type) else re.sub(r" at 0x\w+", "", repr(value))


@pytest.fixture(scope="module", autouse=True)
def _everything_is_loaded() -> None:
    """Load all of the package: what is loaded while something is replaced would keep the replacement."""
    for one in pkgutil.walk_packages(roadworthy.__path__, "roadworthy."):
        if not one.name.endswith("__main__"):
            with suppress(ImportError):  # extras that are not installed
                importlib.import_module(one.name)


@pytest.fixture
def asked(
    roadworthy: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, dict[str, Any]], str]:
    """Runs commands with some functions replaced, and returns what these were asked and what was said."""

    def run(targets: str, commands: dict[str, Any]) -> str:
        parts = []
        log: list[str] = []
        for target in targets.split():
            module, _, name = target.partition(":")
            place = importlib.import_module(f"roadworthy.{module}")
            monkeypatch.setattr(place, name, Asked(name, log, _replaced=getattr(place, name)))
        for command, result in commands.items():
            log.clear()
            _answered(monkeypatch, command.split()[0], log, result)
            given = roadworthy(*shlex.split(command), "--json")
            assert "should not happen" not in given.output, f"{command}\n{given.output}"
            parts.append("\n".join([f"$ {command}", *log, given.output.rstrip(), f"[{given.exit_code}]", ""]))
        monkeypatch.undo()
        return "\n".join(parts)

    return run


def _answered(monkeypatch: pytest.MonkeyPatch, group: str, log: list[str], parts: Any) -> None:
    """Replace the road: what it is given, and what is made of a run, are written down."""

    def answered(suite: Any, how: Any, usual: Any, made_of: Any, *, lines: Any = ()) -> Answer:
        log.append(f"  answered({told(suite)}, {told(how)}, {told(usual)})")
        if parts is not False:
            log.append(f"  -> {told(made_of(Asked('result', log, **parts or {})))}")
        log.append(f"  lines {told(list(lines))}")
        return Answer({}, exit_code=3)

    if group in ("rules", "reliability", "coverage", "bbsl"):
        place = importlib.import_module(f"roadworthy.cli.{group}")
        monkeypatch.setattr(place, "answered", answered)


def test_what_nobody_takes_is_not_kept() -> None:
    def drawn(folder: Path, *, count: int = 1) -> None: ...

    log: list[str] = []
    asked = Asked("drawn", log, _replaced=drawn)
    asked("there", count=2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'cuont'"):
        asked("there", cuont=2)
    assert log == ["  drawn('there', count=2)"]


def test_rules_ask_for_what_was_typed(asked: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "my.rules").write_text("R1: If it rains, slow down.\nR2: If it snows, slow down.\n")
    options = "--same speed=5% --same steering=2 --gallery shipped --traffic left --engines e.yaml"
    rule = "-r 'If it rains, slow down.'"
    said = asked(
        "report.rules:RulesReport report.rules:shrunk_table rules.tables:model_table "
        "rules.tables:composition_table papers.truth_matrix:truth_matrix runs.store:StoredRun "
        "studies.pairs:rated_system studies.pairs:pairs_of studies.pairs:plan_pairs "
        "studies.pairs:write_pairs studies.pairs:PairPlan studies.pairs:evaluate_pairs "
        "studies.pairs:read_ratings",
        {
            f"rules run {rule}": None,
            f"rules run {HOW} {TESTED} {rule} --rules my.rules --only R2 --only 'rule 1' "
            "--threshold 5%,20% --allow 10% --decide estimate --shrink 2 --worst 3 --passes 4 --skip": None,
            f"rules run {rule} --early --allow 5% --images none": None,
            f"rules run {rule} --shrink -1": None,
            f"rules run {rule} --only R9": None,
            f"rules run {rule} --traffic up": None,
            f"rules run {rule} --same wheels=3": None,
            f"rules run {rule} --same speed=fast": None,
            f"rules run {rule} --sample 0": None,
            f"rules run {rule} --model dave2 --model dave2": None,
            "rules run": None,
            "rules run --rules my.rules --rules my.rules": None,
            "rules study there --model epoch --pairs 12 --groups 3 --raters 4 --balanced --seed 5 --out o": None,
            "rules study there": None,
            "rules ratings there a.csv b.csv": None,
            f"rules compare {rule} --by engine:x --by fog {HOW} {TESTED} {options}": False,
            f"rules compose {rule} --first fog --first rain {HOW} {TESTED} {options}": False,
            f"rules run {HOW} {TESTED} {options} {rule}": None,
        },
    )  # fmt: skip
    as_kept(KEPT / "asked-rules.txt", said)


def test_reliability_asks_for_what_was_typed(asked: Callable[..., str]) -> None:
    options = (
        "-t fog -t jpeg --measure accuracy --limit 0.4 --study cifar10 --versions 3 --tolerance 7% "
        "--batches 11 --batch 12"
    )
    people = "--rule text --originals 0.9 -t fog --column answer=x --answers a.csv --width 0.02 --seed 4 --plot p.png"
    said = asked(
        "report.reliability:ReliabilityReport papers.reliability:ranking_of cli.reliability:planned "
        "cli.reliability:_check_same_task "
        "images:read_image visual_change.tolerance:measure_change papers.reliability_figures:draw_thresholds "
        "reliability.human.thresholds:estimate_thresholds reliability.human.thresholds:write_study "
        "studies:read_human_answers report.plots:save papers.reliability:level_table "
        "papers.reliability:study_levels papers.reliability_figures:distribution_figure "
        "papers.reliability_figures:range_figure cli.reliability:frames_of cli.reliability:write_document "
        "papers.reliability:study_subsets papers.reliability_figures:draw_subsets "
        "reliability.human.thresholds:find_each reliability.human.thresholds:usual_rule "
        "training:train training:measures_table training:TrainingSources "
        "training.retraining.material:WithChanges studies.planning:GlanceExperiment cli.studies:opened",
        {
            "reliability check": None,
            f"reliability check {HOW} {TESTED} {options} --preserve prediction --sampling levels --rule paper": None,
            "reliability check -t fog": None,
            "reliability check --preserve all": None,
            "reliability check --rule other": None,
            "reliability check --limit 0": None,
            "reliability check --limit 1.1": None,
            "reliability check --versions 0": None,
            "reliability check --batches 1": None,
            "reliability rank --model a": None,
            f"reliability rank {HOW} {TESTED} {options}": None,
            "reliability rank --model a --model b -t gaussian-noise -t fog": None,
            "reliability change a.png b.png": None,
            "reliability change a.png b.png -t fog --study cifar10": None,
            f"reliability thresholds there {people} --repetitions 5 --confidence 0.8 --save s.yaml": None,
            "reliability thresholds there": None,
            f"reliability study subsets there {people} --draw raters --share 0.5 --pairs 3": None,
            "reliability study subsets there": None,
            "reliability study levels -d world:town -o seed=1 -t fog -n 4 --versions 2 --study cifar10 --seed 3 "
            "--out o": None,
            "reliability study levels": None,
            "reliability retrain epoch -d world -o count=4 -t fog --limit 0.3 --study cifar10 --versions 2 "
            "--weights w --epochs 3 --lr 0.5 --minutes 2 --workers 4 --seed 6 --out o": None,
            "reliability retrain classifier --weights none": None,
            "reliability retrain classifier": None,
            "reliability plan -d world-crops -o seed=2 --target truck -t fog --pairs 7 --batch 8 --raters 2 "
            "--checks 1 --practice 3 --exposure 150 --seed 5 --out o": None,
            "reliability plan": None,
        },
    )  # fmt: skip
    as_kept(KEPT / "asked-reliability.txt", said)


def test_coverage_asks_for_what_was_typed(asked: Callable[..., str], tmp_path: Path) -> None:
    inputs = "--model dave2 --model epoch -d world:town -o seed=2 --frames 3: --seed 7 --out o"
    neurons = "--counting deeptest --threshold 0.4 --scaling none --batch 8"
    said = asked(
        "cli.coverage_studies:seed_images cli.coverage_studies:opened_models cli.coverage_studies:_answer cli.coverage_studies:asdict "
        "models:load_model report.searches:SearchReport report.searches:sampling_suite cli.coverage:StoredRun "
        "coverage.measuring:Measuring "
        "coverage:OperatingDomain report.plots:write_measured runs.changed_images:ChangedImages cli.coverage:opened "
        "papers.deeptest.directions:study_directions papers.deeptest.figures:draw_directions "
        "papers.deeptest.figures:draw_transformations papers.deeptest.transformations:study_transformations "
        "papers.deeptest.figures:draw_change papers.deeptest.transformations:study_change "
        "papers.deeptest.activity:observe_changes "
        "papers.deeptest.deviation:add_images papers.deeptest.deviation:ask_models "
        "papers.deeptest.figures:choose_findings papers.deeptest.deviation:study_deviation "
        "papers.deeptest.figures:check_pairs papers.deeptest.figures:draw_deviation "
        "papers.deeptest.figures:write_checks papers.deeptest.seeds:GuidedImages papers.deeptest.seeds:Seeds "
        "papers.deeptest.faults:make_faults papers.deeptest.faults:read_faults papers.deeptest.faults:study_faults "
        "models.zoo:located_weights models.zoo:read_variant training.retraining:material_of "
        "training.retraining:Material training.retraining:retrain cli.coverage:opened_for cli.coverage:write_json",
        {
            "coverage search": None,
            f"coverage search {HOW} --model epoch -d world:town -o seed=2 --frames 3: -n 5 --search algorithm-1 "
            "-c top-k --training world -t rain -t fog --tries 7 --seconds 8 --lambda 3 --reference rmse "
            "--output speed --max-failed-tries 4 --again --deepest 2 --counting deeptest --seed 6 --worst 2 "
            "--operating-domain d.yaml": None,
            "coverage search --worst -1": None,
            f"coverage rate there {HOW} --tries 8 --allow 10% --seed 4": {"outcomes": {}},
            "coverage rate there": {"outcomes": {}},
            "coverage measure": None,
            "coverage measure --model epoch -d world:town -o seed=1 -c neuron -c top-k --counting deeptest "
            "--threshold 0.4 -n 5 --training world --training-option seed=3 --training-sample 6 "
            "--operating-domain d.yaml --out o": None,
            "coverage measure --run there -n 0": None,
            "coverage measure -d world --run there": None,
            "coverage measure --training-sample 3": None,
            "coverage measure -n -1": None,
            f"coverage study directions {inputs} {neurons} -n 5 --angle recorded": None,
            "coverage study directions": None,
            f"coverage study transformations {inputs} {neurons} -n 5 -t rain": None,
            f"coverage study change {inputs} {neurons} -n 5 -t rain": None,
            "coverage study change": None,
            f"coverage study deviation {inputs} -n 5 -t rain --lambda 3 --epsilon 0.1 --reference rmse --radius 2 "
            "--guided there --check 4 --batch 9": None,
            "coverage study deviation": None,
            "coverage study faults --model epoch -d world:town -o seed=2 --frames 3: --seed 7 --out o -n 5 --compared 6 -c top-k --counting deeptest --size 3 --size 4 "
            "--suites 7 --resamples 8 --rounds 2 --tolerance 0.5 --batch 9": None,
            "coverage study faults --mutants there": None,
            f"coverage study faults {inputs} --mutants there": None,
            "coverage study faults -n 0": None,
            "coverage study faults --compared 1000": None,
            "coverage retrain --model epoch -d world -o seed=2 --training world:town --training-option seed=3 "
            "--cut 70% --change rain --run there --learn fog --share 50% --split time --scratch --control "
            "--tolerance 3% --epochs 4 --lr 0.5 --batch 6 --seed 8 --device cpu --workers 2 --out o": None,
            "coverage retrain --prepared p.zip --out o2": None,
            "coverage retrain --prepare p.zip --lossy --workers 1": None,
            "coverage retrain --prepare p.zip --run there --workers 1": None,
            "coverage retrain --prepare p.zip --prepared q.zip": None,
        },
    )  # fmt: skip
    as_kept(KEPT / "asked-coverage.txt", said)


def test_specifications_ask_for_what_was_typed(asked: Callable[..., str], tmp_path: Path) -> None:
    labels = "--classes car,bus -o seed=2 --clusters frame --size 64x32"
    bound = f"{labels} --bind b.yaml --set near=1,2 --object v"
    judged = "--invalid skip --matching same-class --outside skip --allow 5% --decide estimate"
    pair = {"outcomes": {("spec", "detector"): None}}
    said = asked(
        "report.specifications:CheckedSpecifications report.specifications:SpecificationCoverage "
        "report.specifications:SpecificationReport report.specifications:paper_suite "
        "report.specifications:draw_cases report.specifications:draw_objects report.plots:save "
        "runs.suites.opening:open_data bbsl.comparing:load_suite bbsl:load",
        {
            "bbsl check a.bbsl b.bbsl": None,
            "bbsl check a.bbsl --boxes 2 --seconds 4 --image 64x32 --draw pictures": None,
            f"bbsl test spec.bbsl --truth world:town --model detector {HOW} {bound} {judged} --iou 0.5,1": pair,
            "bbsl test spec.bbsl --truth world:town --detections d.json --annotations a.json --invalid skip": pair,
            "bbsl test spec.bbsl --truth world:town --detections d.json --early --allow 5%": pair,
            "bbsl test spec.bbsl --truth world": None,
            "bbsl test spec.bbsl --truth world --model a --detections b": None,
            "bbsl test spec.bbsl --truth world --model a --iou 0": None,
            "bbsl test spec.bbsl --truth world --model a --iou 1.1": None,
            "bbsl test spec.bbsl --truth world --detections d --invalid maybe": None,
            "bbsl draw spec.bbsl --out p/a.png": None,
            "bbsl draw spec.bbsl --frame a": None,
            "bbsl draw spec.bbsl --size 64x32": None,
            "bbsl cover spec.bbsl --truth world --boundary -1": None,
        },
    )  # fmt: skip
    as_kept(KEPT / "asked-bbsl.txt", said)


def test_driving_asks_for_what_was_typed(asked: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("{}\n")
    said = asked(
        "cli.driving:write_text cli.driving:planned cli.driving:run_plan cli.driving:answer_of cli.driving:settings_of "
        "models.zoo:load_module models.zoo:located_weights models.zoo:read_variant "
        "training.mutants:example_of training.mutants:plan training.mutants:make_mutants "
        "training.mutants:read_mutation driving.drives.readers:drives_in "
        "driving.oracles.learning:OracleProblem report.drive_tables:DriveMetrics "
        "report.drive_tables:write_rows driving.drives.readers:read_typed report.drive_tables:DriveReport "
        "studies.planning:RatingStudy studies.clip_results:evaluate_clips studies.clip_results:read_clip_ratings "
        "studies.clips:ClipPlan driving.metrics:MetricSettings",
        {
            "driving mutate --model epoch --operators GF,WS --ratios 0.1,0.2 --layers 2 --sigma 0.5 --seed 4 "
            "--drive meadow --out o": None,
            "driving mutate --out o2": None,
            "driving mutate --drive nowhere": None,
            "driving oracle --nominal a --mutants b --test-nominal c --test-mutants d --metric 'SD(LP)' --down x "
            "--up y --size 3 --give-up 2 --partial --unit track --seconds 5 --smtlib s.smt2 --settings m.yaml": None,
            "driving oracle --nominal a --mutants b": None,
            "driving oracle --nominal a --mutants b --thresholds conformal": None,
            "driving oracle --nominal a --mutants b --thresholds conformal --alarms 10% --unit driver": None,
            "driving oracle --nominal a": None,
            "driving oracle --nominal a --mutants b --test-nominal c": None,
            "driving oracle --nominal a --mutants b --thresholds loose": None,
            "driving oracle --nominal a --mutants b --alarms 5%": None,
            "driving oracle --nominal a --mutants b --thresholds conformal --give-up 1": None,
            "driving oracle --nominal a --mutants b --thresholds conformal --seconds 1": None,
            "driving drive": None,
            f"driving drive {HOW} --model epoch -s donkey:here:9091 -o scene=a -m threads=1 --laps 2 --seconds 30 "
            "--metres 99 --end-at crash --end-at 'line crossing' --metric 'SD(LP)' --video all --video-format gif "
            "--frames --oracle o.json --settings m.yaml": None,
            "driving drive -s world:town --laps 0 --end-at none --video none --executor processes": None,
            "driving drive -s world:town --end-at none --end-at crash --video a": None,
            "driving drive --video-format avi": None,
            "driving drive --metric nonsense": None,
            "driving rate plan --good a --poor b --attention c --clips 3 --checks 2 --raters 4 --questionnaires 6 "
            "--mixed --shortest 5 --longest 9 --clip-format gif --width 99 --seed 7 --settings m.yaml --out o3": None,
            "driving rate plan --good a --by 'SD(LP)'": None,
            "driving rate plan --good a": None,
            "driving rate plan --poor a": None,
            "driving rate plan --good a --poor b --clip-format avi": None,
            "driving rate results there --answers a.csv --least-kappa 0.3 --out o4": None,
            "driving rate results there": None,
            "driving metrics lap --per drive --metric LP --settings m.yaml": None,
            "driving metrics lap --per sector --cut-seconds 4 --csv o.csv": None,
            "driving metrics lap --per step --cut-metres 9": None,
            "driving metrics table:lap.csv -o mapping=m.yaml --list": None,
            "driving metrics lap -o a=b": None,
            "driving metrics --list": None,
            "driving metrics": None,
            "driving metrics lap --per lap": None,
            "driving metrics lap --cut-seconds 4 --cut-metres 9": None,
        },
    )  # fmt: skip
    as_kept(KEPT / "asked-driving.txt", said)


def test_evidence_ask_for_what_was_typed(asked: Callable[..., str]) -> None:
    said = asked(
        "cli.evidence:StoredRun cli.evidence:functional_of cli.evidence:write_bundle cli.evidence:opened_bundle "
        "cli.evidence:verified cli.evidence:check_documents cli.evidence:check_present cli.evidence:rerun_sample "
        "cli.evidence:export_mlflow cli.evidence:export_fiftyone cli.evidence:export_reqif cli.evidence:sign_sums cli.evidence:replacing",
        {
            "evidence bundle there": None,
            "evidence bundle there --out o --no-images --reqif --operating-domain d.yaml --suite s.yaml": None,
            "evidence bundle there --no-functional": None,
            "evidence export there --to mlflow --uri u --experiment e": None,
            "evidence export there --to mlflow": None,
            "evidence export there --to fiftyone --out o --most 5 --passes": None,
            "evidence export there --to fiftyone --out o": None,
            "evidence export there --to fiftyone --out o --most 0": None,
            "evidence export there --to fiftyone": None,
            "evidence export there --to reqif --out o": None,
            "evidence export there --to doors": None,
            "evidence verify there --rerun -1": None,
            "evidence verify there": None,
            "evidence verify there --digest ab --key k.pem --signature s --rerun 3 --seed 4 --tolerance 0.1 "
            "--suite s.yaml --allow-commands": None,
            "evidence sign there --key k.pem --out s": None,
            "evidence sign there --key k.pem": None,
            "evidence verify there --tolerance -1": None,
        },
    )  # fmt: skip
    as_kept(KEPT / "asked-evidence.txt", said)


def test_models_and_engines_ask_for_what_was_typed(asked: Callable[..., str], tmp_path: Path) -> None:
    train = (
        "--supports 'replace time by night' --name n -m n_res=3 -m big=true -m at=64x32 -m how=odd --small "
        "--size 64x32 --val-share 0.3 --steps 40 --minutes 2 --batch 3 --lr 0.5 --loss hinge --seed 4 "
        "--device cpu --precision float32 --workers 2 --resume --half --domain d --license l --source s"
    )
    said = asked(
        "training:TrainingSources training:train training:measures_table training:drive_lap training:evaluate "
        "cli.models:asdict cli.options:opened_for cli.models:load_model cli.options:history_of "
        "training.engines.train:train_synthesis training.engines.train:train_translation "
        "cli.engine_training:opened",
        {
            "models train dave2 -d world:town -o count=4 --output speed --small --out o --weights w "
            "--val-data world --val-share 0.3 --epochs 2 --patience 3 --batch 4 --lr 0.5 --decay cosine "
            "--mirror 0.1 --brightness 0.3 --seed 5 --device cpu --precision float32 --workers 2 --memory 3": None,
            "models train dave2 --resume --out o2 --workers 1": None,
            "models evaluate m -d world:town -o seed=2 -m threads=1 --lap town --lap meadow --batch 5": None,
            "models evaluate m": None,
            f"engines train synthesis --out o3 {train} -d world:town -o seed=2 --architecture small-synthesis "
            "--no-context --edges --perceptual none": None,
            "engines train synthesis --out o4 --workers 1 --size 64x32": None,
            f"engines train translation --out o5 {train} --from world --to world:town -o a=1 --to-option b=2 "
            "--method ugatit": None,
            "engines train translation --out o6 --from world --to world:town": None,
        },
    )  # fmt: skip
    as_kept(KEPT / "asked-training.txt", said)


def test_the_other_commands_ask_for_what_was_typed(asked: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "s.yaml").touch()
    said = asked(
        "cli.running:planned cli.running:run_plan cli.running:answer_of cli.running:outcome_lines "
        "runs.suites.estimating:estimate_suite runs.executors:executor_for cli.running:plan_suite "
        "cli.running:read_suite cli.results:StoredRun cli.results:compare cli.results:write_comparison "
        "cli.results:as_document cli.results:cells_of cli.results:signed cli.results:sentence cli.results:RunSize cli.results:asdict cli.tool:Listing selftest:selftest "
        "selftest.running:as_document selftest.running:as_markdown selftest.running:fault_table selftest:sentence cli.tool:write_json "
        "cli.tool:write_text cli.models:import_files cli.serving:server",
        {
            f"run s.yaml {HOW} --only R1 --only night -n 4 --seed 5": None,
            "run s.yaml": None,
            f"run s.yaml {HOW} --dry-run": None,
            "run s.yaml --dry-run --executor serial --workers 4": None,
            "run s.yaml --workers 0": None,
            "run s.yaml --address auto --executor processes": None,
            "run s.yaml --timeout 0": None,
            "run s.yaml --timeout inf": None,
            "run s.yaml --out s.yaml": None,
            "run s.yaml --shard 2/4": None,
            "suites check s.yaml t.yaml --allow-commands": None,
            "suites check s.yaml": None,
            "compare a b --systems dave2=epoch --alpha 0.2 --anyway --out c.html": None,
            "compare a b": None,
            "plan 5% --run there --expected 1% --confidence 90% --power 70% --seed 3": None,
            "plan 5%": None,
            "list models": None,
            "list": None,
            "selftest --only rules --only runs --quick --seed 4 --out o": None,
            "selftest": None,
            "serve --run a --model m -d world --out o --host 0.0.0.0 --port 80 --name car": None,
            "serve": None,
        },
    )  # fmt: skip
    as_kept(KEPT / "asked-others.txt", said)


def test_data_transforms_and_engines_ask_for_what_was_typed(
    asked: Callable[..., str], tmp_path: Path
) -> None:
    said = asked(
        "cli.data:opened cli.data:spread_frames cli.data:frame_sheet cli.data:write_picture cli.data:DatasetSummary "
        "cli.data:frame_facts cli.data:summarize cli.data:sources_named cli.data:write_labels cli.data:spread "
        "cli.data:exported cli.transforms:opened cli.transforms:spread_frames cli.transforms:transform_strip "
        "cli.transforms:write_picture cli.transforms:spread cli.transforms:write_changed cli.transforms:Gallery "
        "cli.transforms:harvested cli.transforms:contact_sheet cli.transforms:Tile "
        "cli.engines:opened cli.engines:spread_frames cli.engines:transform_strip cli.engines:write_picture "
        "cli.engines:compared cli.engines:changes_of cli.engines:import_checkpoint cli.engines:put_engine",
        {
            "data label world:town --with street --out o -o seed=2 --depth none --camera-height 2": None,
            "data label world:town": None,
            "transforms show rain -p amount=0.5": None,
            "transforms show rain -d world -o seed=2 -p angle=5 -n 3 --steps 4 --overlay boxes --seed 5 --out o.png": None,
            "transforms show rain --presets -n 1": None,
            "transforms show rotation": None,
            "transforms show mirror --presets": None,
            "transforms show 'rain(amount=0.5)'": None,
            "transforms show 'rain(amount=0.5)' -p amount=1": None,
            "transforms show rain --steps 1": None,
            "transforms show rain --steps 21": None,
            "transforms show rain -n 51": None,
            "transforms apply rain -n 0": None,
            "gallery harvest world --out o2 -e car -o seed=2 -n 3 --smallest 9 --most 4 --add": None,
            "gallery harvest world --out o3 --smallest 0": None,
            "gallery harvest world --out o3 --most 0": None,
            "gallery show -e car --out g.png": None,
            "gallery show mine": None,
            "engines compare x -n 1": None,
            "engines compare x --workers 0": None,
            "engines import c.pt --out e": None,
            "engines import c.pt --out e --supports 'remove line' --direction up": None,
            "engines import c.pt --out e --supports 'remove line' --edges --direction b2a --setting n=3 --name n "
            "--size 64x32 --most 128x64 --half --domain d --license l --source s": None,
            "engines import c.pt --out f --supports 'remove line'": None,
            "engines try x -n 51": None,
            "engines try x --device tpu": None,
        },
    )  # fmt: skip
    as_kept(KEPT / "asked-frames.txt", said)
