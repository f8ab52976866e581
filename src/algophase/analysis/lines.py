"""Lines that numbers are held against. One within rounding of a line is on it, so that every machine says the same."""

TOLERANCE = 1e-9


def reaches(value: float, line: float) -> bool:
    """value >= line, up to rounding; never for NaN."""
    return value >= line - TOLERANCE


def exceeds(value: float, line: float) -> bool:
    """value > line, beyond rounding; never for NaN."""
    return value > line + TOLERANCE
