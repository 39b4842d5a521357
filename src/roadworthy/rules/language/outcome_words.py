"""The words in which people say what should come of a change: patterns over words in their base form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

__all__ = ["LEXICON", "QUANTITY", "REASONS", "Entry", "base_form", "is_gerund", "nearest"]

QUANTITY = "<q>"
"""Stands for a quantity in the text that the patterns are matched with."""

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
    "leave": "leaves leaving",
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
    "steer": "steers steered",  # "steering" is what the model predicts
}
REGULAR = """slow decelerate brake stop halt decrease reduce lower drop lessen diminish decline slacken moderate shed
    dip ease lift back press push step use activate accelerate increase raise gain boost climb pick halve double
    triple change alter adjust deviate differ fluctuate shift affect influence impact swerve veer drift turn pull
    stay remain maintain preserve retain sustain continue move proceed cruise ride exceed surpass limit
    restrict cap predict output result cause produce start wait yield expect avoid refrain prepare head quicken
    rotate touch release return react respond require suppose occur happen oblige instruct advise need overtake proceed park signal allow
    permit watch look prohibit honk fix"""
DOUBLED = frozenset({"stop", "drop", "shed", "dip", "cap", "permit", "occur"})


def _regular(verb: str) -> tuple[str, ...]:
    if verb.endswith("e"):
        return f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"
    stem = verb + verb[-1] if verb in DOUBLED else verb
    return f"{verb}{'es' if verb.endswith(('s', 'sh', 'ch')) else 's'}", f"{stem}ed", f"{stem}ing"


FORMS = {form: verb for verb, forms in IRREGULAR.items() for form in forms.split()} | {
    form: verb for verb in REGULAR.split() for form in _regular(verb)
}


def base_form(word: str) -> str:
    """Return the base form of a verb that is known, and any other word as it is.

    Example:
        >>> base_form("slowing"), base_form("fell"), base_form("slower")
        ('slow', 'fall', 'slower')
    """
    return FORMS.get(word, word)


def is_gerund(word: str) -> bool:
    """Say whether a word is the -ing form of a verb that is known."""
    return word in FORMS and word.endswith("ing")


@dataclass(frozen=True, slots=True)
class Entry:
    """Words with one meaning.

    Attributes:
        kind: What part they play in a then-part.
        value: Which of the things of that kind they are.
        output: The output that they speak of, where that is clear.
        pattern: The words.
    """

    kind: str
    value: str
    output: str | None
    pattern: re.Pattern[str]


D = r"(?:(?:the|a|an|its|your|their|our|my|this|any) )*"
SPEED = (
    r"(?:(?:predict|drive|vehicle|car|current|present|travel|forward|own|actual|overall|new"
    r"|original|previous|initial|old|earlier|result) )*"
    r"(?:speed|velocity|pace)(?! limit)(?: (?:prediction|predictions|value|output))?"
)
STEERING = (
    r"(?:(?:predict|current|present|own|actual|new|original|previous|initial|old|earlier|result) )*"
    r"(?:steering(?: wheel)?(?: (?:angle|command|direction|output|prediction|value|position))*"
    r"|wheels?(?: angle)?|angles?|direction(?: of travel)?|course)"
)
ANY_OUTPUT = r"(?:predictions?|predict value|output|answer|behaviou?r|value)"
EARLIER = r"(?:original|previous|initial|old|earlier|former|first|source|current|present|last)"
STEADY = r"(?:current|present|original|previous|initial|old|earlier|unchanged|usual|normal)"
ABOUT = r"(?:about|roughly|approximately|almost|nearly|more or less|essentially|practically|basically|much|broadly)"
NEXT_QUANTITY = rf"(?= (?:(?:a|an|the) )*{QUANTITY})"
BEFORE = (
    r"(?:(?:it|they) (?:be|do|have be) )?(?:before(?:hand)?|previously|earlier|originally|usual|usually|normal)"
    rf"|{D}(?:{SPEED}|{STEERING}|{ANY_OUTPUT}) (?:before|previously|earlier)|{D}original"
    rf"|{D}{EARLIER} (?:{SPEED}|{STEERING}|{ANY_OUTPUT}|image|frame|picture|scene|one|case|situation|level)"
    rf"|(?:in|on|for|at) {D}{EARLIER}(?: (?:image|frame|picture|scene|one|case|situation|block|value|level))?"
    r"|(?:what )?it be(?: (?:before|originally|previously))?|without (?:it|him|her|them|that)"
)
BOUND = (
    r"(?:(?:a|an|the|at|least|most|no|not|more|less|greater|lower|higher|faster|slower|than|up|to|over|under|below|above"
    r"|maximum|minimum|max|of|exactly) )*"
)
"""Words that may stand before a quantity; only to look ahead."""
AFTER_QUANTITY = rf"(?<={QUANTITY} )"

PATTERNS: tuple[tuple[str, str, str | None, str], ...] = (
    # Who, and what of it.
    ("ego", "named", None,
     r"(?:by |of )?(?:the |your |our |my |its )?(?:(?:ego|autonomous|automated|self drive|own|host|tested) )+"
     r"(?:vehicle|car|automobile|driver|model|system)(?: 's)?"
     r"|(?:by |of )?(?:the )?(?:ego|driver|model|drive model|network|neural network|system|drive system"
     r"|autonomous drive system|av|controller|autopilot)(?: 's)?"
     r"|(?:by |of )?(?:your|our|my) (?:vehicle|car|automobile)(?: 's)?"
     r"|you|it|(?:one|we)(?= (?:should|must|shall|will|have|need|ought)\b)|everyone|everybody|itself|yourself|drivers|motorists"),
    ("ego", "the car", None,
     r"(?:by |of )?(?:the )?(?:vehicle|car|automobile)(?: 's)?|(?:all )?(?:vehicles|cars)"),
    ("other", "", None,
     r"he|she|they|him|them|(?:a|an|another|that|those|these|each|every|(?:the )?other|(?:the )?oncoming)"
     r"(?: \S+)? (?:vehicle|car|automobile|truck|lorry|van|bus|driver|vehicles|cars|drivers)"),
    ("change", "same", "steering", rf"on {D}(?:{STEADY} )?course"),
    ("output", "speed", "speed", rf"(?:of |in |on |between )?{D}{SPEED}"),
    ("output", "steering", "steering", rf"(?:of |in |on |between )?{D}{STEERING}"),
    ("output", "any", None, rf"(?:of |in |on |between )?{D}{ANY_OUTPUT}"),
    # Whether it must be so.
    ("must", "", None,
     r"should|must|shall|will|would|ought(?: to)?|have (?:get )?to|need to|have better"
     r"|(?:be |be also )?(?:expect|suppose|require|oblige|mean|go|advise|instruct|tell) to"
     r"|be to(?= (?:slow|stop|brake|decelerate|reduce|decrease|increase|keep|stay|remain|turn|steer|speed|be)\b)"
     r"|it be (?:expect|require|important|necessary) that"),
    ("expect", "", None, r"(?:(?:we|you|one|i) )?(?:would )?expect|be require"),
    ("may", "", None, r"may|might|can|could|(?:be )?(?:allow|permit|free|able) to"),
    ("optional", "", None,
     r"(?:do |will |should |shall |would )?not (?:have|need) to|need not"
     r"|be not (?:require|oblige|expect|necessary)(?: to)?|not be (?:require|oblige|expect) to"
     r"|(?:there be )?no need(?: to)?"),
    ("not", "", None,
     r"not(?: to(?= (?:exceed|slow|stop|brake|increase|decrease|change|turn|steer|be|go|drive|speed)\b))?|never|(?:may|can) not|(?:be |must )?not (?:be )?(?:allow|permit|suppose) to"
     r"|(?:be )?(?:forbidden to|forbidden from|prohibit from)|be not (?:allow|permit)|be (?:forbidden|prohibit)|under no circumstances|by no mean"
     r"|avoid|refrain from|neither"),
    ("no", "", None, r"no"),
    ("infinitive", "", None, rf"to(?= (?:not )?(?:{'|'.join(sorted({*FORMS.values()}))})\b)"),
    ("aspect", "", None, r"(?:begin|start)(?: to)?"),
    ("joint", "and", None, r"and(?: also| then)?|as well as|while|whilst|,|;|\."),
    ("joint", "but", None, r"but(?: also| then)?|yet"),
    ("joint", "or", None, r"or|nor"),
    ("joint", "without", None, r"without"),
    # Up and down.
    ("change", "decrease", "speed",
     r"slow(?: down| up)?|slower|slowly|more slowly|less (?:fast|quickly|rapidly)|decelerate|deceleration|brake"
     r"|stop|halt|(?:come|slow|slow down|be bring|bring \S+ car) to (?:a |an )?(?:complete |full )?"
     r"(?:stop|halt|standstill)"
     rf"|(?:apply|use|hit|press|push|step on|activate) {D}brake(?: pedal)?"
     rf"|(?:ease|back|let|lift|come|go) off {D}(?:accelerator|gas|throttle)(?: pedal)?|ease off"
     rf"|release {D}(?:accelerator|gas|throttle)(?: pedal)?"
     rf"|(?:lose|shed) {D}speed|low(?= (?:speed|velocity))"),
    ("change", "decrease", None,
     r"(?:decrease|reduce|lower|drop|fall|lessen|diminish|decline|cut|slacken|moderate|shed|dip|shrink|sink)(?: down)?"
     r"|(?:go|come|bring|get|keep|take|turn) down|down|lose|reduction"),
    ("change", "increase", "speed",
     rf"speed up(?! to {QUANTITY})|(?:^|(?<=should )|(?<=must )|(?<=not )|(?<=to )|(?<=shall )|(?<=will )|(?<=car ))"
     r"speed up|accelerate|acceleration|faster|quicker|more (?:quickly|rapidly)|less slowly|quicken|hurry(?: up)?"
     rf"|(?:pick up|gain) {D}speed|(?:press|push|step on) {D}(?:accelerator|gas|throttle)(?: pedal)?"),
    ("change", "increase", None,
     r"(?:increase|raise|rise|grow|gain|boost|climb)|(?:go|come|bring|get) up|higher"),
    ("change", "decrease", None, rf"(?:below|under|beneath) (?:{BEFORE})"),
    ("change", "increase", None, rf"(?:above|over|beyond) (?:{BEFORE})"),
    ("size", "decrease", None, r"smaller"),
    ("size", "increase", None, r"larger|bigger|greater"),
    ("factor", "0.5", None, r"halve"),
    ("factor", "1", None, r"double"),
    ("factor", "2", None, r"triple"),
    # The same, and not the same.
    ("keep", "", None,
     r"keep(?: on)?|stay|remain|hold|maintain|preserve|retain|sustain|leave|stick to|keep to(?! the (?:left|right))"
     rf"(?= {D}(?:{SPEED}|{STEERING}))"),
    ("change", "same", None,
     rf"(?:{ABOUT} )?(?:the )?(?:same|unchanged|unaffected|uninfluenced|constant|steady|stable|equal|identical|fix"
     r"|invariant|unaltered|similar|consistent|unmodified|undisturbed)"
     rf"(?: (?:as|to) (?:{BEFORE}))?"
     rf"|(?:match|equal|close to)(?= {D}(?:{EARLIER}|{SPEED} before|{STEERING} before|what it))"
     rf"|(?:like|as) (?:it be|be|before|usual|(?:in|on|for) {D}{EARLIER} \S+)"),
    ("change", "same", "speed",
     rf"(?<!{QUANTITY} )as (?:fast|quickly|slow|slowly) as(?: (?:{BEFORE}))|at {D}same speed"),
    ("change", "same", "speed", rf"at {D}{STEADY} {SPEED}"),
    ("change", "same", "steering",
     rf"straight(?: ahead| on| forward)?|(?:at|with) {D}{STEADY} {STEERING}"),
    ("change", "same", None, rf"at {D}{STEADY} (?:{ANY_OUTPUT}|level)"),
    ("change", "different", None,
     r"(?:change|alter|adjust|vary|deviate|differ|modify|fluctuate|shift|affect|influence|impact|deviation|difference"
     r"|different|variation|effect|modification|adjustment|alteration|deviations)"
     rf"(?: to(?= {D}(?:{SPEED}|{STEERING}|{ANY_OUTPUT})))?"),
    ("change", "different", "steering", rf"swerve|veer|drift|(?:turn|move|rotate|touch) {D}(?:steering )?wheels?"),
    ("turn", "", "steering", r"turn|steer|bear|pull|swing"),
    *(
        ("side", side, "steering",
         rf"(?:to|toward|towards) {D}{side}(?: hand)?(?: side)?|{side}(?:wards?)?"
         rf"|(?:make|take|do|be) {D}{side}(?: turn)|(?:make|take) {D}{side}|{side} turn")
        for side in ("left", "right")
    ),
    ("move", "", None,
     r"drive|go|travel|move(?: over)?|run|proceed|continue(?: on(?! (?:its|the|your|course)\b))?|come|ride|cruise|carry on"),
    ("be", "", None,
     r"(?:there )?be|become|get|bring|predict|have|cause|lead to|result in|produce|give|show|see|lie|make|occur|happen|take place"),
    # How much.
    ("degree", "more", None,
     rf"(?:even |still |yet )?(?:more|further|farther|harder)|even|(?:a further|another|an additional){NEXT_QUANTITY}"),
    ("degree", "less", None, r"(?:even |still |yet )?less"),
    ("modifier", "at least", None,
     r"at (?:the very |the )?least|(?:a |the )?minimum(?: of)?|at (?:a )?minimum|no (?:less|fewer) than"
     rf"|not (?:less|fewer) than{NEXT_QUANTITY}|>=|≥|> ="),
    ("modifier", "at most", None,
     r"at (?:the very |the )?most|(?:a |the )?(?:maximum|max)(?: of)?|at (?:a )?maximum|up to"
     rf"|(?:no|not) (?:more|greater|larger|bigger) than{NEXT_QUANTITY}|not over{NEXT_QUANTITY}|<=|≤|< ="),
    ("modifier", "more than", None,
     rf"(?:more|greater|larger|bigger) than{NEXT_QUANTITY}|(?:in )?excess of|upwards of|>"),
    ("modifier", "less than", None, rf"(?:less|fewer|smaller) than{NEXT_QUANTITY}|<"),
    ("modifier", "exactly", None, r"exactly|precisely"),
    ("over", "more than", None, rf"over{NEXT_QUANTITY}"),
    ("over", "less than", None, rf"under{NEXT_QUANTITY}"),
    ("beyond", "more than", None, rf"(?:above|beyond|(?:faster|higher) than){NEXT_QUANTITY}"),
    ("beyond", "less than", None, rf"(?:below|beneath|(?:slower|lower) than){NEXT_QUANTITY}"),
    ("beyond", "at most", None, rf"no (?:faster|higher) than{NEXT_QUANTITY}|not (?:faster|higher) than{NEXT_QUANTITY}"),
    ("beyond", "at least", None, rf"no (?:slower|lower) than{NEXT_QUANTITY}|not (?:slower|lower) than{NEXT_QUANTITY}"),
    ("suffix", "at least", None, rf"{AFTER_QUANTITY}(?:or|and) (?:more|greater|higher|above|over|faster)"),
    ("suffix", "at most", None, rf"{AFTER_QUANTITY}(?:or|and) (?:less|lower|below|under|smaller|slower)"),
    ("within", "", None, rf"(?:to )?within{NEXT_QUANTITY}|(?:\+ / ?-|± ?|plus or minus){NEXT_QUANTITY}"),
    ("by", "", None, r"by"),
    ("to", "", None, r"to"),
    ("at", "", None, rf"(?:at|with|in|on)(?= {BOUND}{QUANTITY})"),
    ("exceed", "", None, r"exceed|surpass"),
    ("limit", "", None, r"(?:be )?(?:limit|restrict|cap)"),
    ("fast", "", "speed",
     rf"{AFTER_QUANTITY}as (?:fast|quick|quickly|high)(?: as(?: (?:{BEFORE}))?)?"),
    ("before", "", None,
     rf"(?:than|of|from|as|compared (?:to|with)|relative to|in comparison (?:to|with)|with respect to) (?:{BEFORE})"),
    # What changes nothing.
    ("filler", "", None,
     r"the|a|an|its|your|their|our|my|any|both|of|in|at|on|with|as|do|there|that|this|then|also|too|please|always"
     r"|immediately|instantly|at once|right away|straight away|now|accordingly|therefore|thus|hence|still|'s"
     r"|in (?:this|that|such a) case|in response|as a result|as well|at all|under any circumstances|either|(?:because of|by) (?:it|this|that|him|her|them)"
     r"|for (?:it|him|her|them)|here|:|!|\"|'|“|”"),
    # What no model predicts.
    ("companion", "", None,
     r"(?:(?:be )?(?:ready|prepare|able) to (?:stop|brake|slow(?: down)?|halt)|prepare to (?:stop|brake|halt))(?:(?: ,)? (?:if|when) (?:necessary|need))?"
     r"|(?:give way|yield|wait)(?: (?:to|for) (?:it|him|her|them|pedestrians|others|traffic))?"
     r"|let (?:it|him|her|them) pass"),
    ("condition", "", None, r"(?:if|when|where|as) (?:necessary|need|require|possible|appropriate)"),
    ("vague", "", None,
     r"slightly|somewhat|(?:a|quite a) (?:little|bit|lot)(?: bit)?|significantly|considerably|substantially"
     r"|drastically|dramatically|noticeably|markedly|strongly|much|some|several|few|many|enough|sufficiently"
     r"|appropriately|moderately|greatly|heavily|hard|(?:too )?fast|low|high"),
    ("about", "", None, r"about|around|approximately|roughly|nearly|almost|circa|~|only|just"),
    ("manner", "", None,
     r"gradually|gently|smoothly|quickly|rapidly|abruptly|suddenly|sharply|carefully|safely|cautiously|steadily"),
    ("unpredicted", "", None,
     r"(?:proceed |continue |drive |go |move )?(?:with|use) (?:\S+ )?(?:caution|care)|careful|cautious|attentive"
     r"|alert|caution|attention|aware|honk|horn|headlights?|lights?|indicators?|signal|blinkers?|wipers?"
     r"|(?:change|switch) (?:the )?lanes?|lanes?|overtake|pull over|park|reverse|gear|watch|look"
     r"|(?:brake |stop |following |safe )?(?:distance|gap)|(?:the |its |your )?speed limit|acceleration rate|react|respond"),
)  # fmt: skip

LEXICON = tuple(
    Entry(kind, value, output, re.compile(rf"(?:{pattern})(?![^\s])"))
    for kind, value, output, pattern in PATTERNS
)

REASONS = {
    "other": "only what the ego-vehicle does is predicted",
    "may": "this permits something and expects nothing",
    "optional": "this asks for nothing",
    "condition": "whether it is so cannot be tested",
    "vague": "this does not say how much",
    "about": "this has no border between right and wrong: say 'between' two quantities, 'at least' or 'at most'",
    "manner": "models predict speed and steering for one image, not in what manner they change",
    "unpredicted": "models predict speed and steering, nothing else",
}


WORDS = frozenset(word for entry in LEXICON for word in re.findall(r"[a-z]{4,}", entry.pattern.pattern))


@lru_cache(maxsize=1024)
def nearest(word: str) -> tuple[str, ...]:
    """Return the known words that are spelled most like a word.

    Example:
        >>> nearest("decelarate")
        ('decelerate',)
    """
    return tuple(get_close_matches(word, WORDS - {word}, n=2, cutoff=0.75))
