"""Studies with people: ``rules study`` and ``ratings``, ``reliability plan``, ``driving rate``."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from roadworthy._files import check_free
from roadworthy.cli._answer import Answer
from roadworthy.cli._commands import Group, command
from roadworthy.cli._console import make_folder, progress
from roadworthy.cli.options import Out, opened
from roadworthy.errors import InputError

_RATE = "Let people rate clips of drives on a 5-point scale, and hold metrics against what they think."

# The groups rules and reliability add the commands of the first two; driving has the third as its group rate.
pairs, glances = typer.Typer(), typer.Typer()
clips = typer.Typer(cls=Group, no_args_is_help=True, help=_RATE)


@command(pairs)
def study(
    run: Path,
    model: str | None = None,
    pairs: int | None = None,
    groups: int = 15,
    raters: int = 8,
    balanced: bool = False,
    seed: int = 0,
    out: Out = Path("study"),
) -> Answer:
    """Plan a blind study: people rate, from 1 to 7, how real images look and how reasonable answers are.

    The folder gets raters/, with images, a plan and an empty table of ratings, and key.json, which says what
    each pair is. Give raters the first only: no name in it says which pairs violate a rule.

    Options:
        run (RUN): The folder that `rules run` wrote.
        model (MODEL): Whose answers are rated; the first if left out.
        pairs (N): How many pairs; by default enough to know shares of all within 5 points, at 95% confidence.
        groups (N): Groups; a rater rates one at a time.
        raters (N): People who rate each group.
        balanced: As many violations as other pairs for each rule.
        seed (N): The same seed makes the same images.

    Examples:
        roadworthy rules study rules-out --out study
        roadworthy rules study rules-out --model epoch --balanced --pairs 120 --groups 6
    """
    from roadworthy.runs.store import StoredRun
    from roadworthy.studies.pairs import pairs_of, plan_pairs, rated_system, write_pairs

    stored = StoredRun.open(run)
    chosen = rated_system(stored, model)
    found = list(pairs_of(stored, chosen))
    plan = plan_pairs(found, count=pairs, groups=groups, raters=raters, balanced=balanced, seed=seed)
    write_pairs(plan, out, lambda digest: stored.image(digest).read_bytes())
    violations = sum(item.violated for item in plan.items)
    document = {
        "folder": str(out),
        "model": chosen,
        "pairs": len(plan.items),
        "violations": violations,
        "rules": sorted({item.rule for item in plan.items}),
        "groups": groups,
        "raters_per_group": raters,
    }
    return Answer(
        document,
        [
            f"Drew {len(plan.items)} of {len(found)} pairs with images, {violations} of them violations, in "
            f"{groups} groups for {raters} raters each",
            f"Wrote {out}: give raters {out / 'raters'}, and keep {out / 'key.json'}",
        ],
    )


@command(pairs)
def ratings(folder: Path, files: list[Path]) -> Answer:
    """Sum up the ratings of a study, and how far raters agree (Krippendorff's alpha, ordinal).

    Options:
        folder (STUDY): The folder that `rules study` wrote.
        files (RATINGS): Tables that raters filled in, one or more.

    Examples:
        roadworthy rules ratings study study/raters/ratings.csv
    """
    from roadworthy.studies.pairs import PairPlan, evaluate_pairs, read_ratings

    given = read_ratings(*files)
    if not given:
        raise InputError(f"there are no ratings in {', '.join(map(str, files))}: fill in rater and scores")
    result = evaluate_pairs(PairPlan.read(folder), given)
    return Answer(result.document(), result.tables())


@command(glances)
def plan(
    data: str = "world-crops",
    option: list[str] | None = None,
    target: str = "car",
    transform: list[str] | None = None,
    pairs: int = 300,
    batch: int = 20,
    raters: int = 5,
    checks: int = 2,
    practice: int = 5,
    exposure: int = 200,
    seed: int = 0,
    out: Out = Path("experiment"),
) -> Answer:
    """Plan a forced-choice experiment with people: images, masks, batches, checks, and the key.

    An image is shown for 200 ms, then a mask of noise, then a person chooses. Changed images cover all of the
    visual change evenly. Nobody sees two versions of an image: a person stays in one track of batches. A page
    runs plan.json; keep key.json to yourself. Then put the answers into answers.csv, and ask for thresholds.

    Options:
        target (CLASS): What people look for: CLASS, or not CLASS.
        transform (-t NAME): What changes the images: one of the paper's eight, or any transform that has an
            amount; repeatable. The eight if left out.
        pairs (N): Pairs of original and changed image for each transformation.
        batch (N): Images in a batch; one person does a whole batch.
        raters (N): People who answer for each image.
        checks (N): Images in a batch that are shown longer, as attention checks.
        practice (N): Practice images at the start, not counted.
        exposure (MS): How long an image is shown.
        seed (N): The same seed makes the same images and batches.

    Examples:
        roadworthy reliability plan --data world-crops -o classes=car,truck -t frost --pairs 20
        roadworthy reliability plan --data folder:images --target pedestrian --raters 8 --out experiment
        roadworthy reliability thresholds experiment --rule careful
    """
    from roadworthy.reliability import PAPER_TRANSFORMATIONS, transformation_named
    from roadworthy.studies.glances import GlanceDesign
    from roadworthy.studies.planning import GlanceExperiment
    from roadworthy.studies.stimuli import choices_for

    chosen = [transformation_named(one) for one in transform or PAPER_TRANSFORMATIONS]
    design = GlanceDesign(
        choices_for(target), batch=batch, raters=raters, checks=checks, practice=practice, image_ms=exposure
    )
    experiment = GlanceExperiment(target, chosen, pairs, design, seed)
    frames = opened(data, option, count=experiment.frames_needed)
    with progress("Making images", 2 * experiment.pictures) as bar:
        written = experiment.write(frames, out, bar)
    return Answer(written.document(), written.lines())


@command(clips, name="plan")
def plan_ratings(
    good: list[Path] | None = None,
    poor: list[Path] | None = None,
    attention: list[Path] | None = None,
    by: str | None = None,
    clips: int = 5,
    checks: int = 1,
    raters: int = 5,
    questionnaires: int | None = None,
    mixed: bool = False,
    shortest: float = 10.0,
    longest: float = 15.0,
    clip_format: Literal["webm", "mp4", "gif"] = "webm",
    width: int = 480,
    seed: int = 0,
    settings: Path | None = None,
    out: Out = Path("rating-study"),
) -> Answer:
    """Plan a rating study: questionnaires of good and poor clips and a crash that shows who looks.

    Drives are cut into clips of one to three sectors. Their films show what the camera saw and nothing else:
    from the frames that `driving drive --frames` kept, or by driving again what was recorded in the built-in
    world. The folder gets plan.json, instructions.md, clips/, answers.csv to be filled in, README.md, and
    key.json, which no rater may see.

    Options:
        good (DRIVE): Drives of the model that drives well; a drive's folder, or one that holds several.
            Repeatable.
        poor (DRIVE): Drives of models that drive poorly, such as mutants; a drive's folder, or one that holds
            several. Repeatable.
        attention (DRIVE): Drives that crash, to see who looks; those of --poor if left out; a drive's folder,
            or one that holds several. Repeatable.
        by (METRIC): Tell good from poor by this metric: of all clips, the best and the worst third.
        clips (min=1 N): Good clips in a questionnaire, and as many poor ones.
        checks (min=0 N): Crashes in a questionnaire.
        raters (N): People for each questionnaire.
        questionnaires (N): How many; as many as the clips allow if left out.
        mixed: A questionnaire may show several tracks.
        shortest (SECONDS): Of a clip.
        longest (SECONDS): Of a clip.
        clip_format (NAME): webm, which browsers show; mp4; or gif.
        width (min=64 PIXELS): Of the clips.
        seed (N): Chooses clips and their order.
        settings (FILE): Settings of the metrics: targets, conditions, bins …; YAML with what differs from the
            defaults.

    Examples:
        roadworthy driving drive --model dave2 -s world:town --frames --out drives/good/town
        roadworthy driving drive --model mutants/GF-0.03 -s world:town --frames --out drives/poor/town
        roadworthy driving rate plan --good drives/good --poor drives/poor --out study
        roadworthy driving rate plan --good drives/good --poor drives/poor --attention drives/crashes
        roadworthy driving rate plan --good drives --by 'SD(LP)' --clip-format gif --mixed
    """
    from roadworthy.driving.metrics import MetricSettings
    from roadworthy.studies.clips import ClipDesign, Lengths
    from roadworthy.studies.planning import RatingStudy

    if not good or not (poor or by):
        raise InputError(
            "give drives of a good driver with --good and of poor ones with --poor, or --by a metric that "
            "tells good from poor"
        )
    check_free(out)
    make_folder(out.parent)
    study = RatingStudy.of(
        good,
        poor or (),
        attention=attention or (),
        by=by,
        design=ClipDesign(clips, clips, checks, raters, questionnaires, mixed),
        seed=seed,
        lengths=Lengths(shortest, longest),
        settings=None if settings is None else MetricSettings.load(settings),
    )
    with progress("Filming clips", len(study.plan.clips)) as bar:
        study.write(out, ending=f".{clip_format}", width=width, filmed=bar)
    facts = {
        "clips found": ", ".join(f"{count} {kind}" for kind, count in study.counts.items()),
        "written": f"{out}: plan.json, instructions.md, clips, answers.csv, README.md, key.json",
        "next": f"fill in {out / 'answers.csv'}, then roadworthy driving rate results {out}",
    }
    return Answer({"folder": str(out), **study.document()}, [study.table(), facts])


@command(clips)
def results(
    study: Path, answers: list[Path] | None = None, least_kappa: float = 0.2, out: Path | None = None
) -> Answer:
    """Say how far raters agree, what they think of each clip, and which metrics go with it.

    Raters who do not give the crash the lowest score are left out. Fleiss' kappa says how far the others
    agree, and only clips of questionnaires with a fair agreement are correlated with metrics, in the shape of
    the paper's Table II. Writes agreement.csv, clips.csv, correlations.csv, results.json and results.md.

    Options:
        study (STUDY): The folder that `rate plan` wrote.
        answers (FILE): A CSV file of answers; repeatable. The study's if left out.
        least_kappa (KAPPA): Of a questionnaire whose clips count; fair is above 0.2.
        out (FOLDER): Where results are written; STUDY/results if left out.

    Examples:
        roadworthy driving rate results study
        roadworthy driving rate results study --answers monday.csv --answers tuesday.csv --out results
        roadworthy driving rate results study --least-kappa 0 --json
    """
    from roadworthy.studies.clip_results import evaluate_clips, read_clip_ratings
    from roadworthy.studies.clips import ClipPlan
    from roadworthy.studies.study import ANSWERS

    planned = ClipPlan.read(study)
    files = answers or [study / ANSWERS]
    given = read_clip_ratings(planned, files)
    if not any(any(some.values()) for some in (given.scores, given.inattentive, given.incomplete)):
        raise InputError(f"{files[0]}: nobody has answered yet: fill in scores")
    found = evaluate_clips(planned, given, least_kappa=least_kappa)
    folder = make_folder(study / "results" if out is None else out)
    written = {"written": f"{folder}: {', '.join(path.name for path in found.write(folder))}"}
    return Answer({**found.document(), "folder": str(folder)}, [*found.tables(), written], found.remarks())
