"""How the package words what it tells people."""


def plural(count: int, what: str) -> str:
    """The word after a count: 1 network, 2 networks."""
    return what if count == 1 else f"{what}s"
