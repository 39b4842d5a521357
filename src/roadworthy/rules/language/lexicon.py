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


def phrases_of(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the phrases of a text, which commas part, each as its words; the longest first.

    Example:
        >>> phrases_of("in, in front of")
        (('in', 'front', 'of'), ('in',))
    """
    return tuple(sorted((tuple(phrase.split()) for phrase in text.split(",")), key=len, reverse=True))


def _meaning(element: str, phrases: str, **properties: str) -> dict[str, tuple[str, Mapping[str, str]]]:
    return {" ".join(phrase): (element, properties) for phrase in phrases_of(phrases)}


_SEEING = words_of("seeing encountering noticing spotting meeting approaching detecting")
MARKERS = phrases_of(
    "as soon as, as long as, in the event that, in the event of, the moment that, the moment, the instant, "
    "in case of, in case, in situations where, every time, each time, any time, given that, provided that, "
    "assuming that, supposing that, suppose that, on condition that, if, when, whenever, once, where, "
    "wherever, while, after, whoever, provided, assuming, suppose, supposing, given, upon, should"
    + "".join(f", on {verb}, upon {verb}" for verb in _SEEING)
)
"""What opens a condition, longest first. "Should" does at the start of a sentence: "should a car appear"."""

_WAYS = ("road", "street", "roadway", "carriageway", "highway", "motorway")
NOUNS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    **{f"{part} of {way}": ("sidewalk", {}) for part in ("side", "sides", "edge") for way in _WAYS},
    **{f"{part} of {way}": ("road", {}) for part in ("middle", "center", "centre") for way in _WAYS},
    **_meaning("lane", "travel lane, own lane, ego lane, middle of lane, center of lane, centre of lane"),
    **_meaning(
        "sidewalk",
        "roadside, road side, roadside edge, wayside, kerb, curb, kerbside, curbside, verge, roadside verge, "
        "grass verge, shoulder, hard shoulder, road shoulder, pavement, footpath, footway, walkway, "
        "sidewalk, side walk, side, sides",
    ),
    **_meaning(
        "road",
        "road, street, motorway, highway, freeway, roadway, carriageway, expressway, tarmac, road surface",
    ),
    **_meaning(
        "line",
        "lane line, lane marking, lane mark, road marking, road line, lane divider, lane boundary, "
        "marking, line marking, painted line, road paint, line, lane stripe, stripe, "
        "pavement marking, guide line",
    ),
    **_meaning("line", "centre line, center line, middle line, road centre line", part="centre"),
    **_meaning("line", "edge line, edge marking, side line, outer line", part="edge"),
    **_meaning(
        "ego-vehicle",
        "ego vehicle, ego, ego car, own vehicle, own car, host vehicle, subject vehicle, autonomous "
        "vehicle, autonomous car, self driving car, self driving vehicle, av, adas, driving model, test "
        "vehicle, our car, our vehicle, your car, your vehicle",
    ),
    **_meaning("traffic light", "light, signal, traffic light, traffic signal, stoplight, lights"),
    **_meaning("bicyclist", "person on bicycle, person on bike, biker, bicycle, bike, pushbike"),
    **_meaning("vehicle", "coach, minibus", type="bus"),
    **_meaning(
        "vehicle", "suv, hatchback, coupe, convertible, station wagon, estate car, motorcar", type="car"
    ),
    **_meaning("traffic light", "traffic signal light, traffic light signal"),
    **_meaning(
        "traffic sign",
        "maximum speed limit sign, maximum speed sign, speed limit traffic sign",
        type="speed limit",
    ),
    **_meaning("crosswalk", "zebra"),
    **_meaning("traffic sign", "give way, give way sign", type="yield"),
    **_meaning("traffic sign", "speed limit, speed limit sign, speed sign", type="speed limit"),
    **_meaning("traffic sign", "turning sign, curve sign", type="turn"),
    **_meaning("traffic sign", "signpost"),
    **_meaning("traffic light", "amber light", color="yellow"),
    **_meaning("pedestrian", "passer by"),
    **_meaning("weather", "weather, weather condition, condition, sky, scene weather"),
    **_meaning("time", "driving time, time of day, time"),
    **_meaning("season", "time of year"),
    **_meaning("day", "daytime, daylight, day"),
    **_meaning("night", "nighttime, night time, night, dark, darkness, midnight"),
    **_meaning("rainy", "wet weather, shower, raindrop"),
    **_meaning("rainy", "rainstorm", level="heavy"),
    **_meaning("snowy", "snowflake"),
}
"""Nouns that rules use in a sense of their own, or that the ontology does not have."""

NARROWER = words_of("child kid")
"""Known words that say more than what is shown."""

LINES = {"edge": "edge", "middle": "centre", "centre": "centre", "center": "centre"}
"""Which lines are meant, by where on the road they are."""

SCENE_NOUNS = words_of(
    "scene image picture frame view sight camera photo background scenario surroundings environment "
    "landscape field screen"
)
"""Where everything is: a place that says nothing."""

DETERMINERS = words_of(
    "a an the any another one this that these those all every each other your our its his her their my such "
    "no both"
)
AMOUNTS: Mapping[tuple[str, ...], tuple[int, str]] = {
    phrase: meaning
    for text, meaning in {
        "two, a couple of, a pair of": (2, ""),
        "three, several, a few, a group of, groups of": (3, ""),
        "four": (4, ""),
        "five, many, a lot of, lots of, a crowd of": (5, ""),
        "one of": (0, "one"),
        "some of, some": (0, "some"),
        "half of, half, one half of": (0, "half"),
        "nearest, closest, the nearest, the closest": (0, "nearest"),
    }.items()
    for phrase in phrases_of(text)
}
"""How many things come, at least, and which of those that are there are meant."""
PLAIN_ADJECTIVES = words_of(
    "other another new single visible additional existing current present surrounding parked stationary "
    "standing stopped waiting moving walking driving outdoor overall local painted prevailing ambient actual "
    "same said aforementioned mentioned steady"
)
"""Adjectives that ask for nothing that a picture could show."""

VALUES: Mapping[str, tuple[str, str]] = {
    word: (key, value or word)
    for key, entries in {
        "color": "white black blue red yellow green silver grey orange brown gray=grey amber=yellow",
        "type": "solid continuous=solid unbroken=solid dash dashed=dash broken=dash dotted=dash",
        "shape": "circle circular=circle round=circle square octagon octagonal=octagon triangle "
        "triangular=triangle",
        "position": "left right",
        "orientation": "horizontal vertical",
        "direction": "forward reverse oncoming=reverse opposite=reverse far=reverse",
    }.items()
    for word, _, value in (entry.partition("=") for entry in entries.split())
} | {word: ("type", word) for word in ("stop", "yield", "turn")}
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
    "leap hop dart amble march loom lurk idle proceed reside rest play follow use"
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
ABSENT = words_of("gone missing absent invisible")

COMPARATIVES: Mapping[str, Comparative] = {
    **dict.fromkeys(("closer", "nearer"), "closer"),
    **dict.fromkeys(["farther", "further"], "farther"),
    **dict.fromkeys(["heavier", "stronger", "thicker", "denser", "worse", "harder"], "heavier"),
    **dict.fromkeys(["lighter", "weaker", "thinner", "milder"], "lighter"),
}

_POSITIONS: Mapping[Position | None, str] = {
    "front": (
        "right in front of, in front of, in the front of, at the front of, to the front of, ahead of, before"
    ),
    "behind": "in back of, at the back of, to the rear of, at the rear of, behind",
    "above": "on top of, over, above",
    "beside": (
        "in the vicinity of, to the left of, to the right of, next to, close to, adjacent to, close by, "
        "near to, alongside of, beside, besides, near, by, alongside"
    ),
    None: "out of, during, under, amid, through, to, toward, towards, from, off, with, for, after",
    "on": "on to, on, onto, upon, across, at, along",
    "in": "in to, in, into, inside, within",
}
PREPOSITIONS: tuple[tuple[tuple[str, ...], Position | None], ...] = tuple(
    sorted(
        ((phrase, position) for position, text in _POSITIONS.items() for phrase in phrases_of(text)),
        key=lambda one: -len(one[0]),
    )
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
    "eventually thereby really actually all altogether again additionally furthermore moreover "
    "subsequently afterwards afterward newly clearly virtually digitally still even "
    "quietly today today's please permanently temporarily"
)
"""Adverbs that change nothing about what is seen."""
WEIGHTLESS = (
    FILLERS
    | PLAIN_ADJECTIVES
    | words_of("a an the this that these those any such its his her their my your our hand")
)
"""What may stand in a condition and gives nothing to its reading."""
