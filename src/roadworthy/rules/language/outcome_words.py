"""The words in which people say what should come of a change, and the base forms of their verbs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

ODD = {
    "be": "is are was were been being am",
    "have": "has had having",
    "see": "sees seeing saw seen",
    "lie": "lies lying lay lain",
    "travel": "travelling travelled",
}
"""All forms of verbs that no rule gives, or those that it does not give."""
IRREGULAR = """
    go went gone, get got, come came, drive drove driven, run ran, fall fell fallen, rise rose risen,
    grow grew grown, keep kept, hold held, leave, lose lost, cut, bring brought, make made, give gave given,
    lead led, begin began begun, let, bear bore borne, become became, take took taken, stick stuck,
    speed sped, swing swung, shrink shrank shrunk, sink sank sunk, show showed shown, hit, tell told,
    mean meant, do did done, ride rode ridden, overtake overtook overtaken
"""
"""Verbs with their past forms; but "left" is a side."""
REGULAR = """
    slow decelerate brake stop halt decrease reduce lower drop lessen diminish decline slacken moderate
    shed dip ease lift back press push step use activate release
    accelerate increase raise gain boost climb pick quicken halve double triple
    change alter adjust deviate differ fluctuate shift affect influence impact
    swerve veer drift turn pull rotate touch
    stay remain maintain preserve retain sustain continue move proceed cruise match equal fix
    exceed surpass limit restrict cap predict output result cause produce occur happen start
    expect require suppose oblige instruct advise need allow permit prohibit avoid refrain
    wait yield prepare react respond park signal watch look honk
    apply vary modify hurry carry travel steer
"""
DOUBLED = (
    "stop", "step", "drop", "shed", "dip", "cap", "permit", "occur", "output", "get", "run", "cut", "begin",
    "let", "hit",
)  # fmt: skip


def _regular(verb: str) -> tuple[str, ...]:
    if verb.endswith("e"):
        return f"{verb}s", f"{verb}d", f"{verb[:-1]}ing"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies", f"{verb[:-1]}ied", f"{verb}ing"
    stem = verb + verb[-1] if verb in DOUBLED else verb
    return f"{verb}{'es' if verb.endswith(('s', 'sh', 'ch', 'x', 'o')) else 's'}", f"{stem}ed", f"{stem}ing"


FORMS = {form: verb for verb in REGULAR.split() for form in _regular(verb)}
for _verb, *_past in (entry.split() for entry in IRREGULAR.split(",")):
    _third_person, _, _gerund = _regular(_verb)
    FORMS |= dict.fromkeys([_third_person, _gerund, *_past], _verb)
FORMS |= {form: verb for verb, forms in ODD.items() for form in forms.split()}
del FORMS["steering"]  # is what a model predicts
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


QUANTITY = "<q>"

D = "(?:(?:the|a|an|its|your|their|our|my|this|any) )*"
EARLIER = "(?:original|previous|initial|old|earlier|former|first|source|current|present|last)"
STEADY = "(?:current|present|original|previous|initial|old|earlier|unchanged|usual|normal)"
SAID_OF_OUTPUTS = (
    "(?:(?:predict|drive|vehicle|car|current|present|travel|forward|own|actual|overall|new|original|previous"
    "|initial|old|earlier|result) )*"
)
SPEED = f"{SAID_OF_OUTPUTS}(?:speed|velocity|pace)(?! limit)(?: (?:prediction|predictions|value|output))?"
STEERING = (
    f"{SAID_OF_OUTPUTS}(?:steering(?: wheel)?"
    "(?: (?:angle|command|direction|output|prediction|value|position))*"
    "|wheels?(?: angle)?|angles?|direction(?: of travel)?|course)"
)
ANY_OUTPUT = "(?:predictions?|predict value|output|answer|behaviou?r|value)"
OUTPUT = f"(?:{SPEED}|{STEERING}|{ANY_OUTPUT})"
PICTURE = "(?:image|frame|picture|scene|one|case|situation|block|level)"
BEFORE = (
    "(?:(?:(?:it|they) (?:be|do|have be) )?"
    "(?:before(?:hand)?|previously|earlier|originally|usual|usually|normal)"
    f"|{D}{OUTPUT} (?:before|previously|earlier)|{D}{EARLIER} (?:{PICTURE}|{OUTPUT})|{D}original"
    f"|(?:in|on|for|at) {D}{EARLIER}(?: (?:{PICTURE}|value))?"
    "|(?:what )?it be(?: (?:before|originally|previously))?|without (?:it|him|her|them|that))"
)
ABOUT = (
    "(?:(?:about|roughly|approximately|almost|nearly|more or less|essentially|practically|basically|much) )"
)
SAME = (
    "(?:same|unchanged|unaffected|uninfluenced|constant|steady|stable|equal|identical|fix|invariant|unaltered"
    "|similar|consistent|unmodified|undisturbed)"
)
PEDAL = "(?:accelerator|gas|throttle)(?: pedal)?"
VEHICLE = "(?:vehicle|car|automobile)"
OWN = "(?:(?:ego|autonomous|automated|self drive|own|host) )"
SYSTEM = "(?:(?:drive |neural )?(?:model|network|system)|autonomous drive system|av|controller|autopilot)"
OBLIGED = "(?:should|must|shall|will|have|need|ought)"
NEEDED = "(?:necessary|need|require|possible|appropriate)"
NEXT = f"(?= (?:(?:a|an|the) )*{QUANTITY})"
AFTER = f"(?<={QUANTITY} )"
BOUND = (
    "(?:(?:a|an|the|at|least|most|no|not|more|less|greater|lower|higher|faster|slower|than|up|to|over|under|below"
    "|above|maximum|minimum|max|of|exactly) )*"
)
ACTING = rf"(?:{'|'.join(sorted(VERBS))})\b"

ENTRIES: tuple[tuple[str, str, str | None, str], ...] = (
    # Who, and what of it.
    ("ego", "named", None, rf"""
        (?:by |of )?(?:the |your |our |my |its )?{OWN}+(?:{VEHICLE}|driver|model|system)(?: 's)?
        (?:by |of )?(?:the )?(?:ego|driver|{SYSTEM})(?: 's)?
        (?:by |of )?(?:your|our|my) {VEHICLE}(?: 's)?
        (?:by )?(?:the )?(?:object )?(?:detector|segmenter|segmentation|perception|planner)(?: {SYSTEM})?
        you|it|(?:one|we)(?= {OBLIGED}\b)|everyone|everybody|itself|yourself|drivers|motorists
    """),
    ("ego", "the car", None, rf"""
        (?:by |of )?(?:the )?{VEHICLE}(?: 's)?
        (?:all )?(?:vehicles|cars)
    """),
    ("other", "", None, rf"""
        he|she|they|him|them
        (?:a|an|another|that|those|these|each|every)(?: \S+)? (?:{VEHICLE}s?|truck|lorry|van|bus|drivers?)
        (?:the )?(?:other|oncoming) (?:{VEHICLE}s?|truck|lorry|van|bus|drivers?)
    """),
    ("change", "same", "steering", rf"on {D}(?:{STEADY} )?course"),
    ("output", "speed", "speed", rf"(?:of |in |on |between )?{D}{SPEED}"),
    ("output", "steering", "steering", rf"(?:of |in |on |between )?{D}{STEERING}"),
    ("output", "brake", "brake", r"(?:of |in |on )?(?:the|its|your) brake(?: (?:pedal|pressure|value))?"),
    ("output", "throttle", "throttle", rf"(?:of |in |on )?(?:the|its|your) {PEDAL}(?: (?:signal|value))?"),
    ("output", "acceleration", "acceleration", r"(?:of |in |on )?(?:the|its|your) acceleration"),
    ("output", "any", None, rf"(?:of |in |on |between )?{D}{ANY_OUTPUT}"),
    # Whether it must be so.
    ("must", "", None, rf"""
        should|must|shall|will|would|ought(?: to)?|have (?:get )?to|need to|have better
        (?:be )?(?:expect|suppose|require|oblige|advise|instruct|tell) to
        be (?:go|mean) to
        be to(?= {ACTING})
        it be (?:expect|require|important|necessary) that
    """),
    ("expect", "", None, r"(?:(?:we|you|one|i) )?(?:would )?expect|be require"),
    ("may", "", None, r"""
        may|might|can|could|(?:be )?(?:allow|permit|free|able) to|be (?:allow|permit|acceptable)
    """),
    ("optional", "", None, r"""
        (?:do |will |should |shall |would )?not (?:have|need) to|need not|(?:there be )?no need(?: to)?
        be not (?:require|oblige|expect|necessary)(?: to)?|not be (?:require|oblige|expect) to
    """),
    ("not", "", None, rf"""
        not(?: to(?= {ACTING}))?|never|(?:may|can) not|avoid|refrain from|neither
        (?:be |must )?not (?:be )?(?:allow|permit|suppose) to|be not (?:allow|permit|acceptable)
        (?:be )?(?:forbidden|prohibit) (?:to|from)|be (?:forbidden|prohibit)|under no circumstances|by no mean
    """),
    ("no", "", None, r"no"),
    ("infinitive", "", None, rf"to(?= (?:not )?{ACTING})"),
    ("aspect", "", None, r"(?:begin|start)(?: to)?"),
    ("joint", "and", None, r"and(?: also| then)?|as well as|while|whilst|,|;|\."),
    ("joint", "but", None, r"but(?: also| then)?|yet"),
    ("joint", "or", None, r"or|nor"),
    ("joint", "without", None, r"without"),
    # Up and down.
    ("change", "decrease", "speed", rf"""
        slow(?: down| up)?|slower|slowly|more slowly|less (?:fast|quickly|rapidly)|low(?= (?:speed|velocity))
        decelerate|deceleration|brake|stop|halt|(?:lose|shed) {D}speed
        (?:come|slow|slow down|be bring|bring \S+ car) to (?:a )?(?:complete |full )?(?:stop|halt|standstill)
        (?:apply|use|hit|press|push|step on|activate) {D}brake(?: pedal)?
        (?:ease|back|let|lift|come|go) off {D}{PEDAL}|release {D}{PEDAL}|ease off(?! {D}brake)
    """),
    ("change", "decrease", None, rf"""
        decrease|reduce|lower|drop|fall|lessen|diminish|decline|cut|slacken|moderate|shed|dip|shrink|sink|lose
        (?:go|come|bring|get|keep) down|down|reduction|(?:below|under|beneath) {BEFORE}
    """),
    ("change", "increase", "speed", rf"""
        speed up(?! to {QUANTITY})
        (?:^|(?<=should )|(?<=must )|(?<=not )|(?<=to )|(?<=shall )|(?<=will )|(?<=car ))speed up
        accelerate|acceleration|faster|quicker|more (?:quickly|rapidly)|less slowly|quicken|hurry(?: up)?
        (?:pick up|gain) {D}speed|(?:press|push|step on) {D}{PEDAL}|(?:exceed|surpass) {D}{EARLIER} {SPEED}
    """),
    ("change", "increase", None, rf"""
        increase|raise|rise|grow|gain|boost|climb|higher
        (?:go|come|bring|get) up|(?:above|over|beyond) {BEFORE}
    """),
    ("size", "decrease", None, r"smaller"),
    ("size", "increase", None, rf"larger|bigger|greater|(?:exceed|surpass) {BEFORE}"),
    ("factor", "0.5", None, r"halve"),
    ("factor", "1", None, r"double"),
    ("factor", "2", None, r"triple"),
    # The same, and not the same.
    ("keep", "", None, rf"""
        keep(?: on)?|stay|remain|hold|maintain|preserve|retain|sustain|leave
        (?:stick|keep) to(?= {D}{OUTPUT})
    """),
    ("change", "same", None, rf"""
        {ABOUT}?(?:the )?{SAME}(?: (?:as|to) {BEFORE})?
        (?:match|equal|close to)(?= {D}(?:{EARLIER}|{OUTPUT} before|what it))
        (?:like|as) (?:it be|be|before|usual|(?:in|on|for) {D}{EARLIER} \S+)
        at {D}{STEADY} (?:{ANY_OUTPUT}|level)
    """),
    ("change", "same", "speed", rf"""
        (?<!{QUANTITY} )as (?:fast|quickly|slow|slowly) as {BEFORE}
        at {D}(?:same|{STEADY}) {SPEED}
    """),
    ("change", "same", "steering", rf"straight(?: ahead| on| forward)?|(?:at|with) {D}{STEADY} {STEERING}"),
    ("change", "different", None, rf"""
        change|alter|adjust|vary|deviate|differ|modify|fluctuate|shift|affect|influence|impact|different
        deviations?|variation|effect
        (?:change|difference|modification|adjustment|alteration)(?: to(?= {D}{OUTPUT}))?
    """),
    ("change", "different", "steering", rf"""
        swerve|veer|drift
        (?:turn|move|rotate|touch) {D}(?:steering )?wheels?
    """),
    ("turn", "", "steering", r"turn|steer|bear|pull|swing"),
    *(
        ("side", side, "steering", rf"""
            (?:to|toward|towards) {D}{side}(?: hand)?(?: side)?|{side}(?:wards?)?
            (?:make|take|do|be) {D}{side} turn|(?:make|take) {D}{side}|{side} turn
        """)
        for side in ("left", "right")
    ),
    ("move", "", None, r"""
        drive|go|travel|move(?: over)?|run|proceed|come|ride|cruise|carry on
        continue(?: on(?! (?:its|the|your|course)\b))?
    """),
    ("be", "", None, r"""
        (?:there )?be|become|get|bring|have|give|show|see|lie|make|predict|produce
        cause|lead to|result in|occur|happen|take place
    """),
    # How much.
    ("degree", "more", None, rf"""
        (?:even |still |yet )?(?:more|further|farther|harder)|even
        (?:a further|another|an additional){NEXT}
    """),
    ("degree", "less", None, r"(?:even |still |yet )?less"),
    ("modifier", "at least", None, rf"""
        at (?:the very |the )?least|at (?:a )?minimum|(?:a |the )?minimum(?: of)?|>=|≥|> =
        (?:no|not) (?:less|fewer) than{NEXT}
    """),
    ("modifier", "at most", None, rf"""
        at (?:the very |the )?most|at (?:a )?maximum|(?:a |the )?(?:maximum|max)(?: of)?|up to|<=|≤|< =
        (?:no|not) (?:more|greater|larger|bigger) than{NEXT}|not over{NEXT}
    """),
    ("modifier", "more than", None, rf"""
        (?:more|greater|larger|bigger) than{NEXT}|(?:in )?excess of|upwards of|>
    """),
    ("modifier", "less than", None, rf"(?:less|fewer|smaller) than{NEXT}|<"),
    ("modifier", "exactly", None, r"exactly|precisely"),
    ("over", "more than", None, rf"over{NEXT}"),
    ("over", "less than", None, rf"under{NEXT}"),
    ("beyond", "more than", None, rf"(?:above|beyond|(?:faster|higher) than){NEXT}"),
    ("beyond", "less than", None, rf"(?:below|beneath|(?:slower|lower) than){NEXT}"),
    ("beyond", "at most", None, rf"(?:no|not) (?:faster|higher) than{NEXT}"),
    ("beyond", "at least", None, rf"(?:no|not) (?:slower|lower) than{NEXT}"),
    ("suffix", "at least", None, rf"{AFTER}(?:or|and) (?:more|greater|higher|above|over|faster)"),
    ("suffix", "at most", None, rf"{AFTER}(?:or|and) (?:less|lower|below|under|smaller|slower)"),
    ("within", "", None, rf"(?:to )?within{NEXT}|(?:±|plus or minus){NEXT}"),
    ("by", "", None, r"by"),
    ("to", "", None, r"to"),
    ("at", "", None, rf"(?:at|with|in|on)(?= {BOUND}{QUANTITY})"),
    ("exceed", "", None, r"exceed|surpass"),
    ("limit", "", None, r"(?:be )?(?:limit|restrict|cap)"),
    ("fast", "", "speed", rf"{AFTER}as (?:fast|quick|quickly|high)(?: as(?: {BEFORE})?)?"),
    ("before", "", None, rf"""
        (?:than|of|from|as|(?:compared|in comparison) (?:to|with)|relative to|with respect to) {BEFORE}
    """),
    # What changes nothing.
    ("filler", "", None, r"""
        the|a|an|its|your|their|our|my|any|both|of|in|at|on|with|as|do|there|that|this|'s|then|also|too|please|always
        immediately|instantly|at once|right away|straight away|now|accordingly|therefore|thus|hence|still|here
        in (?:this|that|such a) case|in response|as a result|as well|at all|either|under any circumstances
        (?:because of|by) (?:it|this|that|him|her|them)|for (?:it|him|her|them)
        :|!|\"|'|“|”
    """),
    # What no model predicts.
    ("companion", "", None, rf"""
        (?:be )?(?:ready|able|prepare) to (?:stop|brake|slow down|slow|halt)(?:(?: ,)? (?:if|when) {NEEDED})?
        (?:give way|yield|wait)(?: (?:to|for) (?:it|him|her|them|pedestrians|others|traffic))?
        let (?:it|him|her|them) pass
    """),
    ("condition", "", None, rf"(?:if|when|where|as) {NEEDED}"),
    ("vague", "", None, r"""
        slightly|somewhat|(?:a|quite a) (?:little|bit|lot)(?: bit)?|little|some|several|few|many|much|enough
        significantly|considerably|substantially|drastically|dramatically|noticeably|markedly|strongly|greatly
        significant|considerable|substantial|sufficiently|appropriately|moderately|heavily|hard
        (?:too )?fast|low|high
    """),
    ("about", "", None, r"about|around|approximately|roughly|nearly|almost|circa|~|only|just|hardly|barely"),
    ("manner", "", None, r"""
        gradually|gently|smoothly|quickly|rapidly|abruptly|suddenly|sharply|carefully|safely|cautiously|steadily
    """),
    ("unpredicted", "", None, r"""
        (?:proceed |continue |drive |go |move )?(?:with|use) (?:\S+ )?(?:caution|care)
        careful|cautious|attentive|alert|caution|attention|aware|watch|look|react|respond
        honk|horn|headlights?|lights?|indicators?|signal|blinkers?|wipers?
        gear|reverse|park|overtake|pull over
        (?:change|switch) (?:the )?lanes?|lanes?|(?:brake |stop |following |safe )?(?:distance|gap)
        (?:the |its |your )?speed limit|acceleration rate
    """),
)  # fmt: skip

REASONS = {
    "other": "only what the ego-vehicle does is predicted",
    "may": "this permits something and expects nothing",
    "optional": "this asks for nothing",
    "condition": "whether it is so cannot be tested",
    "vague": "this does not say how much",
    "about": "this has no border: say 'between' two quantities, 'at least' or 'at most'",
    "manner": "models predict speed and steering for one image, not in what manner they change",
    "unpredicted": "no model predicts this",
}
"""Why words of some kinds cannot be part of an expectation."""


@dataclass(frozen=True, slots=True)
class WordMeaning:
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


LEXICON = tuple(
    WordMeaning(kind, value, output, re.compile(rf"(?:{line.strip()})(?!\S)"))
    for kind, value, output, lines in ENTRIES
    for line in lines.strip().splitlines()
)
WORDS = frozenset(word for entry in ENTRIES for word in re.findall("[a-z]{4,}", entry[3]))


@lru_cache(maxsize=1024)
def nearest(word: str) -> tuple[str, ...]:
    """Return the known words that are spelled most like a word.

    Example:
        >>> nearest("decelarate")
        ('decelerate',)
    """
    return tuple(get_close_matches(word, WORDS - {word}, n=2, cutoff=0.75))
