"""Numbers as people read them."""

from __future__ import annotations

import math

MINUS = "−"  # as wide as a plus, unlike a hyphen


def count(value: int) -> str:
    """Return a whole number with its thousands apart.

    Example:
        >>> count(1234567)
        '1,234,567'
    """
    return f"{value:,}"


def percent(share: float | None) -> str:
    """Return a share in percent, with two digits that say something; never 0% or 100% for what is not.

    Example:
        >>> [percent(one) for one in (0.675, 0.0312, 0.00012, 0.0, 1.0, 0.99999, None)]
        ['67.5%', '3.1%', '0.012%', '0%', '100%', '>99.9%', '–']
    """
    if share is None:
        return "–"
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    if share > 0.9995:
        return ">99.9%"
    digits = 1 if share >= 0.01 else 1 - math.floor(math.log10(100 * share))
    return f"{100 * share:.{min(digits, 6)}f}%"


def number(value: float) -> str:
    """Return a number in three digits, or four where it has four before the point.

    Example:
        >>> [number(one) for one in (3.47934, -0.00123, 411.4967, 12345.6, 1e-9, float("-inf"), 2.0)]
        ['3.48', '−0.00123', '411', '12,346', '1e−09', '−∞', '2']
    """
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    if math.isnan(value):
        return "no number"
    size = abs(value)
    if 1000 <= size < 1e7:
        text = f"{value:,.0f}"
    elif size >= 100:
        text = f"{value:.4g}" if size >= 1e7 else f"{value:.0f}"
    else:
        text = f"{value:.3g}"
    return text.replace("-", MINUS)


def signed(value: float) -> str:
    """Return a number with its sign, plus too.

    Example:
        >>> signed(0.4), signed(-3.0), signed(0.0)
        ('+0.4', '−3', '0')
    """
    return f"+{number(value)}" if value > 0 else number(value)
