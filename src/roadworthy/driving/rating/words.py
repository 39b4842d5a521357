"""What the people of a rating study are told: those who rate, and those who run it."""

from __future__ import annotations

from roadworthy.driving.rating.plan import LABELS, Study

QUESTION = "How good is the driving in this clip?"


def instructions(study: Study, reference: str | None) -> str:
    """Return what raters are told: nothing about who drives, and nothing about the crash among the clips.

    Args:
        study: The study.
        reference: Where the film lies that they see before.
    """
    clips = len(study.questionnaires[0].clips)
    before = (
        f"Before you begin, watch `{reference}`. It shows what such a clip looks like, and is not rated.\n\n"
        if reference
        else ""
    )
    scale = "\n".join(f"{score}. {label}" for score, label in enumerate(LABELS, 1))
    return f"""# How good is this driving?

You will see {clips} short clips, seen through the windscreen of a car that a computer drives. Please say of
each how good the driving is. There is no right answer: your opinion counts. Take as much time as you
like, and watch a clip again if you want to. You need a driving licence to take part.

{before}{QUESTION}

{scale}

Watch each clip to its end before you answer, and answer for every clip. Judge the driving, not the picture
or the scenery. Please do not talk about the clips with others who take part.
"""


def notes_for_hosts(study: Study, plan: str, answers: str, key: str) -> str:
    """Return what those who run the study must know.

    Args:
        study: The study.
        plan: What the file of the plan is called.
        answers: That of the answers.
        key: That of the key.
    """
    count = study.design.attention
    ends = "1 clip of each questionnaire ends" if count == 1 else f"{count} clips of each questionnaire end"
    checks = f"- {ends} in a crash. Whoever does not give that a 1 is left out.\n" if count else ""
    return f"""# A study of driving quality

Questionnaires: {len(study.questionnaires)}, each with {len(study.questionnaires[0].clips)} clips and for
{study.design.raters} raters. Good and poor clips are told apart by {study.rule}.

- A person fills in one questionnaire of `{plan}`, in one of its orders, and no two of them in the same order.
- Enter the scores into `{answers}`: its lines are in the order in which each person sees the clips. Give
  every person a name of their own, or keep those that stand there. A line without a score was not answered.
- Give raters `instructions.md` and their clips. They must not see `{key}`, this page, or how others answered.
{checks}- `roadworthy driving rate results FOLDER` reads the answers.
"""
