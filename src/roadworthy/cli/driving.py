"""``roadworthy driving``: models that drive in simulators, and how well they do.

Options:
    settings (FILE): Settings of the metrics: targets, conditions, bins …; YAML with what differs from the
        defaults.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from roadworthy._files import write_text
from roadworthy._yaml import read_yaml
from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import make_folder, parse_options, tracked
from roadworthy.cli._road import RunOptions, answer_of, answered, planned, run_plan, suite_document
from roadworthy.cli.options import numbers, share, words
from roadworthy.cli.studies import clips
from roadworthy.errors import InputError
from roadworthy.result_tables import ResultTable

if TYPE_CHECKING:
    from roadworthy.driving.metrics import MetricSettings
    from roadworthy.report.drive_tables import DriveReport
    from roadworthy.runs.suites import SuiteResult


app = typer.Typer(cls=Group, no_args_is_help=True)


def settings_of(path: Path | None) -> MetricSettings:
    """Return the settings of a file, or those that come with the package."""
    from roadworthy.driving.metrics import MetricSettings

    return MetricSettings.standard() if path is None else MetricSettings.load(path)


USUAL = Path("drive-out")


@dataclass(frozen=True)
class DriveOptions:
    """Who drives where, for how long, and what is kept of it.

    Options:
        model (MODEL): Who drives: a name, kind:path or a model.yaml.
        simulator (-s SIMULATOR): Where: name or name:what, see `roadworthy list simulators`.
        option (-o KEY=VALUE): An option of the simulator; repeatable.
        model_option (-m KEY=VALUE): An option of the model; repeatable.
        laps (N): Laps; 0 does not count them.
        seconds (S): The longest drive, in the simulator.
        metres (M): The farthest drive.
        repeats (min=1 N): Drive it so many times; the drives count as one scenario.
        end_at (EVENT): End at this event; repeatable. crash if left out; or none.
        metric (NAME): What colours the way in drive.png, such as LP or SD(SA).
        video (WHAT): failing: the first sector that failed; all; none; or a sector's name.
        video_format (NAME): mp4; webm, which browsers show; or gif.
        frames: Keep what the camera saw in frames.zip, for clips to be rated.
        oracle (FILE): What `driving oracle --json` wrote: its thresholds must hold as well.
    """

    model: str = "dave2"
    simulator: str = "world:meadow"
    option: list[str] | None = None
    model_option: list[str] | None = None
    laps: int = 1
    seconds: float = 600.0
    metres: float | None = None
    repeats: int = 1
    end_at: list[str] | None = None
    metric: str = "LP"
    video: str = "failing"
    video_format: Literal["mp4", "webm", "gif"] = "mp4"
    frames: bool = False
    oracle: Path | None = None
    settings: Path | None = None

    def suite(self) -> dict[str, Any]:
        """Return it as a suite of one drive."""
        from roadworthy.driving.simulators.scenarios import WHOLE_DRIVE

        settings_of(self.settings)
        changes = {}
        if self.settings is not None:
            changes = read_yaml(self.settings, "file of metric settings", "targets …").data
        # How many laps there will be, or which sectors, is not known beforehand.
        known = self.simulator.partition(":")[0] == "world" and self.laps
        entry = {
            "driving": {} if self.oracle is None else str(self.oracle),
            "simulator": [self.simulator],
            "options": parse_options(self.option or []),
            "laps": self.laps,
            "seconds": self.seconds,
            "metres": self.metres,
            "end_at": [] if self.end_at == ["none"] else self.end_at,
            "sectors": None if known else [WHOLE_DRIVE],
            "frames": "all" if self.frames else {"none": "none", "failing": "failing"}.get(self.video, "all"),
            "settings": changes,
            "repeats": self.repeats,
        }
        suite = suite_document("driving drive", {"drive": entry}, models=[self.model])
        options = parse_options(self.model_option or [], "-m threads=1")
        suite["models"] = {name: {"model": one, "options": options} for name, one in suite["models"].items()}
        return suite


@command(app)
def drive(how: RunOptions, given: DriveOptions) -> Answer:
    """Let a model drive in a simulator, record the drive, measure it and draw it.

    Writes drive.parquet, metrics.csv with a row for each sector, drive.json, drive.png and a video, beside
    report.html, junit.xml, evidence, and suite.yaml, which `roadworthy run` takes. If the model or the
    simulator fails, the drive up to that point is still written. With --repeats, repeats.csv tells how far
    every metric differs between repeats, and the files are those of the first that failed.

    The exit code is 1 if the vehicle crashed, crossed a line or stood still for good in any sector, if a
    threshold of the oracle is passed or if the model failed; 2 if the simulator failed; 3 if nothing could be
    judged.

    Examples:
        roadworthy driving drive --model dave2 --simulator world:town
        roadworthy driving drive --model chauffeur -s world:mountain -o weather=rain -o traffic=0 --laps 2
        roadworthy driving drive --model mine/model.yaml -s udacity:127.0.0.1:4567 --seconds 120
        roadworthy driving drive --model dave2 -s donkey:127.0.0.1:9091 -o scene=generated_track
        roadworthy driving drive --model dave2 -s world:town --end-at 'line crossing' --video all
        roadworthy driving drive --model mutants/GF-0.03 -s world:town --frames --out drives/GF-0.03
        roadworthy driving drive --model dave2 -s world:town --oracle oracle.json
        roadworthy driving drive --model dave2 -s gymnasium:CarRacing-v3 --seconds 5 --repeats 3
    """
    from roadworthy.driving.metrics import parse_metric

    parse_metric(given.metric)
    plan = planned(given.suite(), how, USUAL)
    reports: list[DriveReport] = []

    def write(result: SuiteResult) -> None:
        from roadworthy.report.drive_tables import DriveReport

        report = DriveReport(result)
        if report.driven:
            report.write(given.metric, given.video, given.video_format, frames=given.frames)
            reports.append(report)

    # One drive needs one process, and may take as long as it lasts in the simulator.
    alone = replace(how, workers=how.workers or 1, timeout=how.timeout + given.seconds)
    published = run_plan(plan, alone, USUAL, extras=write)
    if not reports:
        return answer_of(published, how)
    (report,) = reports
    facts = report.document()
    facts["notes"] += published.result.notes
    answer = replace(answer_of(published, how, shown=report.lines(), document=facts), notes=facts["notes"])
    return answer.failed(report.problem, "The film could not be written") if report.problem else answer


@command(app)
def metrics(
    log: str | None = None,
    listed: bool = False,
    metric: list[str] | None = None,
    per: Literal["drive", "sector", "step"] = "drive",
    option: list[str] | None = None,
    cut_seconds: float | None = None,
    cut_metres: float | None = None,
    settings: Path | None = None,
    csv: Path | None = None,
) -> Answer:
    """Measure the quality of a drive by the 127 metrics of the literature, or list them.

    A metric is an operator applied to something measured: SD(LP) is the standard deviation of the lateral
    position. docs/driving.md defines all of them.

    Options:
        log ([LOG]): The drive: the folder of `driving drive`; format:path with udacity-sim, donkey,
            commonroad or table; or a data set that knows what the vehicle did, such as comma2k19:path,
            mcap:path or nuscenes:path.
        listed (--list): List all metrics; with a log, which of them it allows.
        metric (NAME): Only this metric, such as SD(LP); repeatable.
        per (WHAT): drive, sector or step: what a number is for.
        option (-o KEY=VALUE): An option of the reader; repeatable.
        cut_seconds (SECONDS): Cut the drive into sectors this long.
        cut_metres (METRES): Cut the drive into sectors this long.
        csv (FILE): Write the numbers as CSV.

    Examples:
        roadworthy driving metrics --list
        roadworthy driving metrics --list udacity-sim:driving_log.csv
        roadworthy driving metrics drive-out --per sector --csv sectors.csv
        roadworthy driving metrics donkey:tub --cut-seconds 10 --per sector
        roadworthy driving metrics comma2k19:Chunk_3 --cut-metres 100 --per sector
        roadworthy driving metrics mcap:drive.mcap -o speed=/odom -o steering=/odom
        roadworthy driving metrics table:log.csv -o mapping=columns.yaml --metric 'SD(LP)'
        roadworthy driving metrics drive-out --per step --metric LP --metric 'DevT(SP)' --csv steps.csv
    """
    from roadworthy.report.drive_tables import DriveMetrics, write_rows

    chosen = settings_of(settings)
    from roadworthy.driving.drives.readers import read_typed

    asked = {**parse_options(option or []), "cut_seconds": cut_seconds, "cut_metres": cut_metres}
    drive = None if log is None else read_typed(log, asked)
    if listed:
        found = DriveMetrics.catalogue(drive, chosen)
    elif drive is None:
        raise InputError("give the log of a drive, or --list to see what there is to measure")
    elif per == "step":
        found = DriveMetrics.steps(drive, metric, chosen)
    else:
        found = DriveMetrics.of(drive, metric, chosen, sectors=per == "sector")
    if csv is not None:
        write_rows(found.rows, csv)
    shown = [found.shown] if listed or per != "step" or csv is None else []
    return Answer(found.document, shown, found.notes, conclusion=found.conclusion)


@command(app)
def check(
    how: RunOptions,
    log: str,
    option: list[str] | None = None,
    oracle: Path | None = None,
    limit: list[str] | None = None,
    cut_seconds: float | None = None,
    cut_metres: float | None = None,
    allow: str = "0",
    settings: Path | None = None,
) -> Answer:
    """Judge recorded drives by thresholds of driving metrics; no model is asked.

    Each drive of the log is a case, or each piece of it with --cut-seconds or --cut-metres; what is left at
    the end of a drive is not judged then. Drives are the clusters. Metrics that need a signal which the log
    does not have make a case not applicable.

    Options:
        log (LOG): comma2k19:FOLDER, mcap:FILE, nuscenes:FOLDER or whatever else `driving metrics` reads.
        option (-o KEY=VALUE): An option of the reader; repeatable.
        oracle (FILE): What `driving oracle --json` wrote.
        limit (METRIC=VALUE): Instead of an oracle, the last good value of a metric; repeatable.
        cut_seconds (SECONDS): Cut each drive into sectors this long.
        cut_metres (METRES): Cut each drive into sectors this long.
        allow (SHARE): How many of the cases may fail, such as 5%.

    Examples:
        roadworthy driving check comma2k19:Chunk_3 --limit 'SD(SA)=2' --cut-metres 100 --allow 5%
        roadworthy driving check mcap:drive.mcap -o speed=/odom -o steering=/odom --oracle oracle.json
    """
    if (oracle is None) == (not limit):
        raise InputError("give either --oracle or --limit: a log is judged by thresholds of metrics")
    settings_of(settings)
    cut = {"cut_seconds": cut_seconds, "cut_metres": cut_metres}
    options = {**parse_options(option or []), **{name: one for name, one in cut.items() if one is not None}}
    limits = {name: numbers("--limit", str(one)) for name, one in parse_options(limit or []).items()}
    for name, given in limits.items():
        if len(given) != 1:
            raise InputError(f"--limit {name} needs one number, such as 2.5, got {len(given)}")
    entry = {
        "driving": {name: one for name, (one,) in limits.items()} if oracle is None else str(oracle),
        "simulator": [f"log:{log}"],
        "options": options,
        "settings": {}
        if settings is None
        else read_yaml(settings, "file of metric settings", "targets …").data,
        "accept": share("--allow", allow),
    }
    plan = planned(suite_document("driving check", {"log": entry}, models=["truth"]), how, Path("check-out"))
    return answer_of(run_plan(plan, how, Path("check-out")), how)


@dataclass(frozen=True)
class DriveSearchOptions:
    """Where failing drives are searched for.

    Options:
        model (MODEL): Who drives.
        simulator (-s SIMULATOR): Where; repeatable.
        option (-o KEY=VALUE): An option of the simulators that does not vary; repeatable.
        vary (KEY=VALUES): What varies of the options: values, the plainest first, or a range, such as
            time=day,night or seed="0 to 99"; repeatable. In the built-in world, all that matters if left out.
        change (WORDS): What may happen on the way, such as "a pedestrian crosses {60 to 30} m ahead", mildest
            first, or nothing; repeatable.
        search: guided by what came near; random for comparison.
        tries (min=1 N): How many drives are tried; making failures smaller takes some more.
        seconds (S): The longest drive.
        oracle (FILE): What `driving oracle --json` wrote: its thresholds must hold as well.
        frames: Of which drives what the camera saw is kept.
        seed (N): Chooses what is tried.
    """

    model: str = "dave2"
    simulator: list[str] | None = None
    option: list[str] | None = None
    vary: list[str] | None = None
    change: list[str] | None = None
    search: Literal["guided", "random"] = "guided"
    tries: int = 100
    seconds: float = 15.0
    oracle: Path | None = None
    frames: Literal["none", "failing", "all"] = "failing"
    seed: int = 0


@command(app)
def search(how: RunOptions, given: DriveSearchOptions) -> Answer:
    """Search for drives that fail: in which weather and traffic, with what happening on the way, and where.

    A failure is told by what happens and where; one that the careful driver of the built-in world has, too,
    is none. Each is made smaller: what it does not need is left out, what can be weaker is, and the drive
    begins just before it. failures.suite.yaml drives the smallest again, for a later model. A search that was
    stopped goes on where it stood. The exit code is 1 if anything fails.

    Examples:
        roadworthy driving search --model dave2 -s world:town -s world:mountain --tries 200
        roadworthy driving search -s world:town --vary time=day,night --vary start="0 to 900" --change nothing
        roadworthy driving search -s world:town --change "a pedestrian crosses {60 to 20} m ahead"
        roadworthy driving search --model truth -o driver=pedestrian-blind -s world:town --search random
    """
    from roadworthy.report.drive_tables import searched_drives

    vary = parse_options(given.vary or [])
    several = {name: one if " to " in str(one) else str(one).split(",") for name, one in vary.items()}
    entry = {
        "driving": {} if given.oracle is None else str(given.oracle),
        "simulator": given.simulator or ["world:town"],
        "options": parse_options(given.option or []),
        "search": given.search,
        "tries": given.tries,
        "seconds": given.seconds,
        "vary": several,
        "changes": given.change or [],
        "frames": given.frames,
    }
    suite = suite_document("driving search", {"search": entry}, models=[given.model], seed=given.seed)
    return answered(suite, how, Path("search-out"), searched_drives)


@command(app)
def export(
    run: Path, case: str | None = None, out: Path = Path("scenario"), suite: Path | None = None
) -> Answer:
    """Write a drive of a run as OpenSCENARIO with its road as OpenDRIVE, for other players and simulators.

    Drives in the built-in world, whether of `driving drive`, of a rule that drives or of a search. Everybody
    moves as in the drive. The ego-vehicle has its route and its first speed; it also drives as it was driven,
    unless the parameter ego_as_driven is set to false.

    Options:
        run (RUN): The folder of the run.
        out (FOLDER): Where the files are written; those of an earlier drive are not replaced.
        case (CASE): Which case, by its id; the worst that failed if left out.
        suite (FILE): The suite where it stands, for a run that names models of your own.

    Examples:
        roadworthy driving export search-out --out scenario
        roadworthy driving export search-out --case "drive 000040" --out scenario
    """
    from roadworthy.driving.exporting import export_drive
    from roadworthy.report.drive_tables import driven_case

    scenario, drive, id = driven_case(run, case, suite)
    written = export_drive(scenario, drive, out)
    document = {
        "case": id,
        "files": [str(one) for one in written],
        "seconds": drive.duration,
        "ended": drive.ended,
    }
    return Answer(document, [f"{id}: {drive.ended} after {drive.duration:.1f} s", *map(str, written)])


@command(app)
def mutate(
    model: str = "dave2",
    operators: str = "GF,WS,NEB,NAI,NS,LR,LA,LD",
    ratios: str = "0.01,0.03,0.05",
    layers: int = 3,
    sigma: float = 1.0,
    seed: int = 0,
    again: Path | None = None,
    listed: bool = False,
    drive: str | None = None,
    out: Path = Path("mutants"),
) -> Answer:
    """Make mutants of a trained network, as DeepMutation++ does: faults to try an oracle on.

    Every mutant becomes a folder that all commands open as a model, with a mutant.json to make it again.
    mutants.csv says what became of each: equivalent to the original on all probe images, crashing, or alive.

    Options:
        model (MODEL): The network: a shipped one, or a trained file or folder.
        operators (NAMES): The operators, comma-separated.
        ratios (SHARES): Of weights (GF), neurons (WS, NEB, NAI, NS).
        layers (N): How many layers LR, LA and LD change, each in a mutant.
        sigma (SHARE): The noise of GF, as a share of the layer's own spread.
        seed (N): Chooses layers, weights, neurons and noise.
        again (FILE): Make the mutant of this mutant.json again.
        listed (--list): List the layers each operator can change, or why not.
        drive (TRACK): Let every mutant drive a lap of this track.
        out (FOLDER): Where everything is written.

    Examples:
        roadworthy driving mutate --model dave2 --out mutants
        roadworthy driving mutate --model dave2 --drive meadow --out mutants
        roadworthy driving mutate --model chauffeur --operators NEB,NS --ratios 0.03 --seed 4 --out more
        roadworthy driving mutate --model dave2 --operators LD --list
        roadworthy driving mutate --again mutants/GF-0.03/mutant.json --out again
        roadworthy driving drive --model mutants/GF-0.03
    """
    from roadworthy.models.zoo import load_module, located_weights, read_variant
    from roadworthy.training import mutants
    from roadworthy.world import track

    if drive is not None:
        track(drive)
    names = words(operators) or []
    if again is not None:
        model, mutation = mutants.read_mutation(again)
    module, example = load_module(model), mutants.example_of(read_variant(located_weights(model)))
    if listed:
        found = [one for name in names for one in mutants.candidates(module, example, name)]
        table = ResultTable("", ("operator", "layer", "kind", ""), tuple(one.cells() for one in found))
        return Answer([vars(one) for one in found], [table])
    if again is not None:
        wanted = [mutation]
    else:
        shares = numbers("--ratios", ratios)
        wanted = mutants.plan(
            module, example, operators=names, ratios=shares, layers=layers, seed=seed, sigma=sigma
        )
    made = mutants.make_mutants(model, tracked(wanted, "Making mutants"), make_folder(out), track=drive)
    notes = [] if drive else ["Only a drive shows which of them crash: give --drive meadow."]
    return Answer(made.document(), [made.table()], notes, conclusion=str(made))


@command(app)
def oracle(
    nominal: list[Path] | None = None,
    mutants: list[Path] | None = None,
    test_nominal: list[Path] | None = None,
    test_mutants: list[Path] | None = None,
    metric: list[str] | None = None,
    down: list[str] | None = None,
    up: list[str] | None = None,
    size: int | None = None,
    give_up: int = 0,
    partial: bool = False,
    thresholds: Literal["tight", "conformal"] = "tight",
    alarms: str | None = None,
    unit: Literal["lap", "track", "driver"] = "lap",
    seconds: float | None = None,
    smtlib: Path | None = None,
    settings: Path | None = None,
) -> Answer:
    """Find thresholds of metrics that raise an alarm in as many sectors of mutants as possible.

    The nominal driver raises none, but in the sectors that are given up. Mutants that crash or cross a line
    are left out: they need no metric. So is the sector in the middle of which a drive ends. With drives of
    another model and its mutants, oracles of every size up to --size and for every number of sectors up to
    --give-up are tried on them.

    How often a new good lap raises an alarm is told with every oracle. Conformal thresholds are chosen for
    that: they keep to the probability of --alarms, and need 1/alarms - 1 good laps.

    Options:
        nominal (DRIVE): Drives of the model that drives well; a drive's folder, or one that holds several.
            Repeatable.
        mutants (DRIVE): Drives of its mutants; a drive's folder, or one that holds several. Repeatable.
        test_nominal (DRIVE): Drives of another model, to test oracles on; a drive's folder, or one that holds
            several. Repeatable.
        test_mutants (DRIVE): Drives of that model's mutants; a drive's folder, or one that holds several.
            Repeatable.
        metric (NAME): Use this metric; repeatable. Default: those of Table II.
        down (NAME): A metric where less is worse, unlike usual.
        up (NAME): A metric where more is worse, unlike usual.
        size (min=1 N): Use the N metrics with the top variance scores.
        give_up (min=0 K): In how many nominal sectors an alarm is allowed.
        partial: Also use the sectors that drives do not finish.
        thresholds (HOW): tight: the worst of the good drives, as in the paper; conformal: by --alarms.
        alarms (SHARE): How likely a new good lap may raise an alarm, with conformal thresholds; 5% if left
            out.
        unit (WHAT): What is new in that sentence: lap, track or driver.
        seconds (SECONDS): For each fit at most; then a bound is told.
        smtlib (FILE): Write the problem for other solvers, as SMT-LIB.

    Examples:
        roadworthy driving oracle --nominal drives/dave2 --mutants drives/mutants --give-up 1
        roadworthy driving oracle --nominal drives/dave2 --mutants drives/mutants --metric 'SD(SA)' \
            --metric 'Max(LP)' --smtlib problem.smt2
        roadworthy driving oracle --nominal drives/good --mutants drives/mutants --metric 'SD(LP)' \
            --metric 'Max(LP)' --thresholds conformal --alarms 5% --unit lap
        roadworthy driving oracle --nominal drives/dave2 --mutants drives/dave2-mutants --test-nominal \
            drives/chauffeur --test-mutants drives/chauffeur-mutants
    """
    if not nominal or not mutants:
        raise InputError("give drives of the good driver with --nominal and of its mutants with --mutants")
    if bool(test_nominal) != bool(test_mutants):
        raise InputError("give both --test-nominal and --test-mutants, or neither")
    from roadworthy.driving.drives.readers import drives_in
    from roadworthy.driving.oracles.learning import OracleProblem

    conformal = thresholds == "conformal"
    if alarms is not None and not conformal:
        raise InputError("--alarms is for --thresholds conformal; tight ones allow alarms with --give-up")
    if conformal and (give_up or seconds is not None or smtlib is not None):
        raise InputError("--give-up, --seconds and --smtlib are for --thresholds tight: leave them out")
    places = (nominal, mutants, test_nominal or [], test_mutants or [])
    good, bad, others, other_mutants = ([drive for _, drive in drives_in(one)] for one in places)
    problem = OracleProblem.of(
        good,
        bad,
        test_nominal=others,
        test_mutants=other_mutants,
        metrics=metric,
        up=up or (),
        down=down or (),
        size=size,
        keep_partial=partial,
        settings=settings_of(settings),
        alarms=share("--alarms", "5%" if alarms is None else alarms) if conformal else None,
        unit=unit,
    )
    if smtlib is not None:
        write_text(smtlib, problem.smtlib(give_up))
    learned = problem.solve(give_up, seconds=seconds)
    return Answer(learned.document(), learned.lines())


app.add_typer(clips, name="rate")
