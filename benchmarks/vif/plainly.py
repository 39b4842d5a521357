"""VSNR and visual change, which no package has, beside the plain version of the same formulas."""

from __future__ import annotations

from functools import partial

from benchmarks._measured import Bar, Beside, Measured
from benchmarks.vif.measuring import SIZES, Work, best, picture
from benchmarks.vif.plain import plain_visual_change, plain_vsnr
from roadworthy.visual_change import ReferenceImage, visual_change, vsnr

THAN_PLAIN = 10.0  # times faster


def main() -> list[Measured]:
    rows = []
    print("Visual change of a pair of grey images, milliseconds")
    print(f"  {'':24}{'pair':>8}{'kept':>8}{'plain':>9}{'ratio':>7}")
    for width, height in SIZES:
        reference, changed = pair = picture(width, height)
        kept = ReferenceImage(reference)
        works: dict[str, list[Work]] = {
            "vsnr": [partial(vsnr, *pair), partial(kept.vsnr, changed), partial(plain_vsnr, *pair)],
            "visual_change": [
                partial(visual_change, *pair),
                partial(kept.visual_change, changed),
                partial(plain_visual_change, *pair),
            ],
        }
        for name, row in works.items():
            spent, with_kept, plain = best({str(index): work for index, work in enumerate(row)}).values()
            verdict = f"  {'ok' if plain / spent >= THAN_PLAIN else 'SLOW'} (at least {THAN_PLAIN:g}x)"
            label = f"{width}x{height} {name}"
            bar = Bar("times", "≥", THAN_PLAIN) if name == "visual_change" else None
            beside = Beside("the formulas, step by step", plain, plain / spent)
            rows.append(Measured(f"`{name}`, {width}×{height}", spent, "ms", beside, bar))
            print(
                f"  {label:24}{spent:8.2f}{with_kept:8.2f}{plain:9.1f}{plain / spent:6.0f}x"
                f"{verdict if name == 'visual_change' else ''}"
            )
    print("  pair: from two images; kept: with a Reference that was used before; ratio: plain over pair\n")
    return rows
