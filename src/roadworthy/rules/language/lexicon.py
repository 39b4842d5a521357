"""The words that rules about scenes are made of, each with what it means: the explicit lists that win.

Nouns that are not here are looked up in the ontology and then in WordNet; other verbs are refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from roadworthy.rules.reading import Comparative, Position


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text.

    Example:
        >>> sorted(words_of("rain snow"))
        ['rain', 'snow']
    """
    return frozenset(text.split())


_SEEING = ("seeing", "encountering", "noticing", "spotting", "meeting", "approaching", "detecting")

MARKERS: tuple[tuple[str, ...], ...] = (
    ("as", "soon", "as"),
    ("as", "long", "as"),
    ("in", "the", "event", "that"),
    ("in", "the", "event", "of"),
    ("the", "moment", "that"),
    ("the", "moment"),
    ("the", "instant"),
    *((first, second) for first in ("on", "upon") for second in _SEEING),
    ("in", "case", "of"),
    ("in", "case"),
    ("in", "situations", "where"),
    ("every", "time"),
    ("each", "time"),
    ("any", "time"),
    ("given", "that"),
    ("provided", "that"),
    ("assuming", "that"),
    ("supposing", "that"),
    ("suppose", "that"),
    ("on", "condition", "that"),
    ("if",),
    ("when",),
    ("whenever",),
    ("once",),
    ("where",),
    ("wherever",),
    ("while",),
    ("after",),
    ("provided",),
    ("assuming",),
    ("suppose",),
    ("supposing",),
    ("given",),
    ("upon",),
    ("should",),
)
"""What opens a condition, longest first. "Should" does at the start of a sentence: "should a car appear"."""

NOUNS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    **dict.fromkeys(
        (
            "roadside",
            "road side",
            "side of road",
            "side of street",
            "roadside edge",
            "edge of road",
            "edge of street",
            "wayside",
            "kerb",
            "curb",
            "kerbside",
            "curbside",
            "verge",
            "roadside verge",
            "grass verge",
            "shoulder",
            "hard shoulder",
            "road shoulder",
            "pavement",
            "footpath",
            "footway",
            "walkway",
            "sidewalk",
            "side walk",
            "side",
        ),
        ("sidewalk", {}),
    ),
    **dict.fromkeys(
        (
            "road",
            "street",
            "motorway",
            "highway",
            "freeway",
            "roadway",
            "carriageway",
            "expressway",
            "tarmac",
            "road surface",
            "middle of road",
            "middle of street",
            "center of road",
            "centre of road",
        ),
        ("road", {}),
    ),
    **dict.fromkeys(
        (
            "lane line",
            "lane marking",
            "lane mark",
            "road marking",
            "road line",
            "lane divider",
            "lane boundary",
            "marking",
            "line marking",
            "painted line",
            "road paint",
            "centre line",
            "center line",
            "edge line",
            "line",
            "lane stripe",
            "stripe",
        ),
        ("line", {}),
    ),
    **dict.fromkeys(
        (
            "ego vehicle",
            "ego",
            "ego car",
            "own vehicle",
            "own car",
            "host vehicle",
            "subject vehicle",
            "autonomous vehicle",
            "autonomous car",
            "self driving car",
            "self driving vehicle",
            "av",
            "adas",
            "driving model",
            "test vehicle",
            "our car",
            "our vehicle",
            "your car",
            "your vehicle",
        ),
        ("ego-vehicle", {}),
    ),
    **dict.fromkeys(
        ("light", "signal", "traffic light", "traffic signal", "stoplight", "lights"), ("traffic light", {})
    ),
    "person on bicycle": ("bicyclist", {}),
    "person on bike": ("bicyclist", {}),
    "biker": ("bicyclist", {}),
    "bicycle": ("bicyclist", {}),
    "bike": ("bicyclist", {}),
    "pushbike": ("bicyclist", {}),
    "coach": ("vehicle", {"type": "bus"}),
    "minibus": ("vehicle", {"type": "bus"}),
    "zebra": ("crosswalk", {}),
    "give way": ("traffic sign", {"type": "yield"}),
    "give way sign": ("traffic sign", {"type": "yield"}),
    "speed limit": ("traffic sign", {"type": "speed limit"}),
    "speed limit sign": ("traffic sign", {"type": "speed limit"}),
    "speed sign": ("traffic sign", {"type": "speed limit"}),
    "turning sign": ("traffic sign", {"type": "turn"}),
    "curve sign": ("traffic sign", {"type": "turn"}),
    "signpost": ("traffic sign", {}),
    "amber light": ("traffic light", {"color": "yellow"}),
    "passer by": ("pedestrian", {}),
    "weather": ("weather", {}),
    "weather condition": ("weather", {}),
    "condition": ("weather", {}),
    "sky": ("weather", {}),
    "scene weather": ("weather", {}),
    "driving time": ("time", {}),
    "time of day": ("time", {}),
    "time": ("time", {}),
    "time of year": ("season", {}),
    "daytime": ("day", {}),
    "daylight": ("day", {}),
    "day": ("day", {}),
    "nighttime": ("night", {}),
    "night time": ("night", {}),
    "night": ("night", {}),
    "dark": ("night", {}),
    "darkness": ("night", {}),
    "midnight": ("night", {}),
    "wet weather": ("rainy", {}),
    "shower": ("rainy", {}),
    "rainstorm": ("rainy", {"level": "heavy"}),
    "raindrop": ("rainy", {}),
    "snowflake": ("snowy", {}),
}
"""Nouns that rules use in a sense of their own, or that the ontology does not have."""

SCENE_NOUNS = words_of(
    "scene image picture frame view sight camera photo background scenario surroundings environment "
    "landscape field screen"
)
"""Where everything is: a place that says nothing."""

DETERMINERS = words_of(
    "a an the any some another one this that these those all every each other your our its his her their my "
    "such no several many both"
)
PLAIN_ADJECTIVES = words_of(
    "other another new nearby single visible additional existing current present whole surrounding parked "
    "stationary standing stopped waiting moving walking driving outdoor overall local lone adjacent painted "
    "roadside prevailing ambient nearest actual same said aforementioned mentioned very"
)
"""Adjectives that ask for nothing that a picture could show."""

VALUES: Mapping[str, tuple[str, str]] = {
    **{
        name: ("color", name)
        for name in words_of("white black blue red yellow green silver grey orange brown")
    },
    "gray": ("color", "grey"),
    "amber": ("color", "yellow"),
    "solid": ("type", "solid"),
    "continuous": ("type", "solid"),
    "unbroken": ("type", "solid"),
    "dash": ("type", "dash"),
    "dashed": ("type", "dash"),
    "broken": ("type", "dash"),
    "dotted": ("type", "dash"),
    "circular": ("shape", "circle"),
    "round": ("shape", "circle"),
    "square": ("shape", "square"),
    "octagonal": ("shape", "octagon"),
    "triangular": ("shape", "triangle"),
    "circle": ("shape", "circle"),
    "octagon": ("shape", "octagon"),
    "triangle": ("shape", "triangle"),
    "stop": ("type", "stop"),
    "yield": ("type", "yield"),
    "turn": ("type", "turn"),
    "left": ("position", "left"),
    "right": ("position", "right"),
    "horizontal": ("orientation", "horizontal"),
    "vertical": ("orientation", "vertical"),
    "forward": ("direction", "forward"),
    "reverse": ("direction", "reverse"),
    "oncoming": ("direction", "reverse"),
    "opposite": ("direction", "reverse"),
}
"""Adjectives that are values of properties."""

LEVELS: Mapping[str, str] = {
    **dict.fromkeys(
        words_of("light slight mild gentle weak thin soft lightly slightly gently softly"), "light"
    ),
    **dict.fromkeys(words_of("normal moderate medium ordinary moderately"), "normal"),
    **dict.fromkeys(
        words_of(
            "heavy strong thick dense severe intense torrential extreme hard pouring heavily strongly "
            "thickly densely severely intensely"
        ),
        "heavy",
    ),
}

NOMINALS: Mapping[str, str] = {
    **dict.fromkeys(words_of("addition presence appearance insertion introduction arrival sight"), "add"),
    **dict.fromkeys(words_of("removal absence disappearance deletion lack loss"), "remove"),
    **dict.fromkeys(words_of("replacement substitution"), "replace"),
}
"""Nouns that stand for a change: "the removal of the lane lines"."""

ADD_VERBS = words_of(
    "add insert place put introduce set position draw paint install erect plant superimpose "
    "spawn create build"
)
SEE_VERBS = words_of(
    "see spot notice encounter meet detect observe find approach reach face near pass watch "
    "recognize recognise perceive view identify follow"
)
PRESENCE_VERBS = words_of(
    "appear come emerge show pop enter arrive stand walk wait be step run jump cross sit park lie drive ride "
    "cycle move pull cut exist turn stay locate occur happen stroll jog rush dash wander travel pass stop "
    "remain hurry run_out sprint skate halt cover queue loiter skip present hang materialise materialize "
    "leap hop dart amble march loom lurk idle proceed reside rest overtake"
)
VANISH_VERBS = words_of("disappear vanish leave depart fade evaporate")
REMOVE_VERBS = words_of(
    "remove delete erase eliminate take wipe drop hide clear scrub subtract cut get omit mask strip withdraw"
)
REPLACE_VERBS = words_of("replace substitute swap exchange")
CHANGE_VERBS = words_of(
    "change turn become get grow go switch convert transform shift alter transition morph make repaint "
    "paint recolor recolour"
)
MOTION_VERBS = words_of("drive travel go be move ride proceed cruise head continue operate run")
WEATHER_VERBS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "rain": ("rainy", {}),
    "drizzle": ("rainy", {"level": "light"}),
    "pour": ("rainy", {"level": "heavy"}),
    "snow": ("snowy", {}),
    "cloud": ("cloudy", {}),
}
HEAVIER_VERBS = words_of("intensify strengthen worsen thicken increase")
LIGHTER_VERBS = words_of("ease weaken lessen thin subside decrease")
PARTICLES = words_of("up out in down away off over by on along around past through across")
ABSENT = words_of("gone missing absent invisible")

COMPARATIVES: Mapping[str, Comparative] = {
    **dict.fromkeys(("closer", "nearer"), "closer"),
    **dict.fromkeys(["farther", "further"], "farther"),
    **dict.fromkeys(["heavier", "stronger", "thicker", "denser", "worse", "harder"], "heavier"),
    **dict.fromkeys(["lighter", "weaker", "thinner", "milder"], "lighter"),
}

PREPOSITIONS: tuple[tuple[tuple[str, ...], Position | None], ...] = (
    (("right", "in", "front", "of"), "front"),
    (("in", "front", "of"), "front"),
    (("in", "the", "front", "of"), "front"),
    (("at", "the", "front", "of"), "front"),
    (("to", "the", "front", "of"), "front"),
    (("in", "back", "of"), "behind"),
    (("at", "the", "back", "of"), "behind"),
    (("to", "the", "rear", "of"), "behind"),
    (("at", "the", "rear", "of"), "behind"),
    (("on", "top", "of"), "above"),
    (("in", "the", "vicinity", "of"), "beside"),
    (("to", "the", "left", "of"), "beside"),
    (("to", "the", "right", "of"), "beside"),
    (("ahead", "of"), "front"),
    (("next", "to"), "beside"),
    (("close", "to"), "beside"),
    (("adjacent", "to"), "beside"),
    (("close", "by"), "beside"),
    (("near", "to"), "beside"),
    (("alongside", "of"), "beside"),
    (("out", "of"), None),
    (("on", "to"), "on"),
    (("in", "to"), "in"),
    (("on",), "on"),
    (("onto",), "on"),
    (("upon",), "on"),
    (("across",), "on"),
    (("at",), "on"),
    (("along",), "on"),
    (("over",), "above"),
    (("above",), "above"),
    (("behind",), "behind"),
    (("before",), "front"),
    (("beside",), "beside"),
    (("besides",), "beside"),
    (("near",), "beside"),
    (("by",), "beside"),
    (("alongside",), "beside"),
    (("in",), "in"),
    (("into",), "in"),
    (("inside",), "in"),
    (("within",), "in"),
    (("during",), None),
    (("under",), None),
    (("amid",), None),
    (("through",), None),
    (("to",), None),
    (("toward",), None),
    (("towards",), None),
    (("from",), None),
    (("off",), None),
    (("with",), None),
    (("for",), None),
    (("after",), None),
)
"""Prepositions with the position they stand for, longest first."""

ONES = words_of("one ones")
"""What stands for a noun that was named before: "a red one"."""
ACTORS = words_of("you we i one tester engineer driver user")
ANIMATE_PRONOUNS = words_of("he she him her")
PRONOUNS = ANIMATE_PRONOUNS | words_of("it they them this that these those")
FILLERS = words_of(
    "suddenly now then also just ever currently already directly immediately straight too "
    "quickly slowly unexpectedly completely entirely fully gradually simply simultaneously together "
    "eventually thereby really actually all both altogether again additionally furthermore moreover "
    "subsequently afterwards afterward newly clearly closely safely virtually digitally still even "
    "quietly today today's please permanently temporarily"
)
"""Adverbs that change nothing about what is seen."""
