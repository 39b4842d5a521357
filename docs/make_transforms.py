"""Draw a strip for every transform and write the reference part of transforms.md. Run with ``make docs``."""

from __future__ import annotations

from pathlib import Path

from roadworthy.errors import NotApplicable
from roadworthy.frames import Frame
from roadworthy.images import write_image
from roadworthy.registry import transforms
from roadworthy.report import transform_strip, variants
from roadworthy.seeding import rng_for
from roadworthy.transforms import Transform, kind_of, spelled
from roadworthy.world import Camera, add, frame_of, make_scene

PAGE = Path(__file__).parent / "transforms.md"
PICTURES = Path(__file__).parent / "pictures" / "transforms"
START = "<!-- From here on written by docs/make_transforms.py. -->\n"
STEPS = 5
FAMILIES = {
    "affine": "The camera moved",
    "tone": "Light and colour",
    "blur": "Blur",
    "noise": "Noise",
    "digital": "Digital artefacts",
    "weather": "Weather",
    "objects": "Objects",
}


def example_frame() -> Frame:
    """A street with people, traffic, lines and trees."""
    scene = make_scene("town", 560.0, seed=5, traffic=1.6)
    scene = add(scene, "pedestrian", ahead=13, side="left")
    return frame_of(scene, Camera(320, 160), id="town")


def strip_path(name: str) -> Path:
    """Where the strip of a transform is."""
    return PICTURES / f"{name}.jpg"


def draw_strips() -> None:
    """Draw all strips."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    frame = example_frame()
    for name in transforms.names():
        sheet = transform_strip([frame], variants(kind_of(name), STEPS), seed=_seed(name, frame), scale=0.7)
        write_image(strip_path(name), sheet)


def _seed(name: str, frame: Frame) -> int:
    """Return the first seed under which the frame qualifies, so that the strip shows the change."""
    kind = kind_of(name)
    change = kind.at(1) if kind.has_amount() else kind()
    for seed in range(20):
        try:
            change(frame, rng_for(seed, frame.id, 0), measure=False)
        except NotApplicable:
            continue
        return seed
    raise AssertionError(f"{name} has nothing to show on the example frame")


def reference() -> str:
    """The part of the page that is made from the declarations."""
    kinds = [kind_of(name) for name in transforms.names()]
    unknown = {kind.family for kind in kinds} - set(FAMILIES)
    if unknown:
        raise AssertionError(f"families without a heading: {', '.join(sorted(unknown))}")
    parts = []
    for family, heading in FAMILIES.items():
        members = [kind for kind in kinds if kind.family == family]
        if members:
            parts.append(f"## {heading}\n")
            parts += map(_section, members)
    return "\n".join(parts)


def _section(kind: type[Transform]) -> str:
    needs = f" Needs {' and '.join(kind.needs)}." if kind.needs else ""
    drawn = " Draws random numbers." if kind.random else ""
    lines = [
        f"### {kind.name}\n",
        f"{kind.summary[0].upper()}{kind.summary[1:]}; {kind.keeps.value}.{needs}{drawn}\n",
        f"![{kind.name}, from identity to strongest](pictures/transforms/{kind.name}.jpg)\n",
    ]
    if kind.parameters():
        lines += [
            f"- `{one.name}` = {spelled(one.default)} ({one.domain}): {one.description}"
            for one in kind.parameters()
        ]
        lines.append("")
    if kind.presets:
        lines.append(f"Presets: {_presets(kind)}\n")
    return "\n".join(lines)


def _presets(kind: type[Transform]) -> str:
    """Return the presets; those of a series, such as deeptest-1 to deeptest-10, together."""
    series: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for preset, values in kind.presets.items():
        stem, _, number = preset.rpartition("-")
        series.setdefault((stem if number.isdigit() else preset, tuple(values)), []).append(preset)
    return "; ".join(_series(kind, names) for names in series.values())


def _series(kind: type[Transform], names: list[str]) -> str:
    settings = []
    for key in kind.presets[names[0]]:
        values = [spelled(kind.presets[name][key]) for name in names]
        settings.append(f"{key} {values[0] if len(set(values)) == 1 else ', '.join(values)}")
    named = f"`{names[0]}`" if len(names) == 1 else f"`{names[0]}` to `{names[-1]}`"
    return f"{named} ({'; '.join(settings)})"


def main() -> None:
    """Draw the strips and write the page."""
    draw_strips()
    written, _, _ = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(f"{written}{START}\n{reference()}", encoding="utf-8")


if __name__ == "__main__":
    main()
