"""How the package words what it tells people."""


def plural(count: int, what: str) -> str:
    """The word after a count: 1 network, 2 networks."""
    return what if count == 1 else f"{what}s"


def counted(count: int, what: str) -> str:
    """The count and its word: 1 run, 2,000 runs."""
    return f"{count:,} {plural(count, what)}"
