"""Base forms of the verbs in which people say what should happen, whatever a tagger makes of them."""

from __future__ import annotations

__all__ = ["VERBS", "base_form", "is_gerund"]

IRREGULAR = {
    "be": "is are was were been being am",
    "have": "has had having",
    "do": "does did doing done",
    "go": "goes going went gone",
    "get": "gets getting got",
    "come": "comes coming came",
    "drive": "drives driving drove driven",
    "run": "runs running ran",
    "fall": "falls falling fell fallen",
    "rise": "rises rising rose risen",
    "grow": "grows growing grew grown",
    "keep": "keeps keeping kept",
    "hold": "holds holding held",
    "leave": "leaves leaving",  # "left" is a side
    "lose": "loses losing lost",
    "cut": "cuts cutting",
    "bring": "brings bringing brought",
    "make": "makes making made",
    "give": "gives giving gave given",
    "lead": "leads leading led",
    "begin": "begins beginning began begun",
    "let": "lets letting",
    "bear": "bears bearing bore borne",
    "become": "becomes becoming became",
    "take": "takes taking took taken",
    "stick": "sticks sticking stuck",
    "speed": "speeds speeding sped",
    "swing": "swings swinging swung",
    "shrink": "shrinks shrinking shrank shrunk",
    "sink": "sinks sinking sank sunk",
    "see": "sees seeing saw seen",
    "show": "shows showing showed shown",
    "hit": "hits hitting",
    "lie": "lies lying lay lain",
    "apply": "applies applying applied",
    "vary": "varies varying varied",
    "modify": "modifies modifying modified",
    "hurry": "hurries hurrying hurried",
    "carry": "carries carrying carried",
    "tell": "tells telling told",
    "mean": "means meaning meant",
    "travel": "travels traveling traveled travelling travelled",
    "steer": "steers steered",  # "steering" is what a model predicts
}
REGULAR = """
    slow decelerate brake stop halt decrease reduce lower drop lessen diminish decline slacken moderate
    shed dip ease lift back press push step use activate release
    accelerate increase raise gain boost climb pick quicken halve double triple
    change alter adjust deviate differ fluctuate shift affect influence impact
    swerve veer drift turn pull rotate touch
    stay remain maintain preserve retain sustain continue move proceed cruise ride match equal fix
    exceed surpass limit restrict cap predict output result cause produce occur happen start
    expect require suppose oblige instruct advise need allow permit prohibit avoid refrain
    wait yield prepare react respond overtake park signal watch look honk
"""
DOUBLED = frozenset({"stop", "drop", "shed", "dip", "cap", "permit", "occur"})


def _regular(verb: str) -> tuple[str, ...]:
    if verb.endswith("e"):
        return f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"
    stem = verb + verb[-1] if verb in DOUBLED else verb
    return f"{verb}{'es' if verb.endswith(('s', 'sh', 'ch', 'x')) else 's'}", f"{stem}ed", f"{stem}ing"


FORMS = {form: verb for verb, forms in IRREGULAR.items() for form in forms.split()} | {
    form: verb for verb in REGULAR.split() for form in _regular(verb)
}
VERBS = frozenset(FORMS.values())


def base_form(word: str) -> str:
    """Return the base form of a verb that is known, and any other word as it is.

    Example:
        >>> base_form("slowing"), base_form("fell"), base_form("slower")
        ('slow', 'fall', 'slower')
    """
    return FORMS.get(word, word)


def is_gerund(word: str) -> bool:
    """Say whether a word is the -ing form of a verb that is known.

    Example:
        >>> is_gerund("braking"), is_gerund("during")
        (True, False)
    """
    return word in FORMS and word.endswith("ing")
