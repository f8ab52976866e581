"""Where the shipped sweeps and networks are, and their names.

An installed package has the tables, a Clock and a Pizza; a clone of the project has more networks.
Nothing heavy is imported here: the shell asks for these names while a user types.
"""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# By name: one trained network of each algorithm, model B and model A of `gallery/exhibits.toml`.
NETWORKS = {
    "clock": "fixed-width/networks/da98a6312948.safetensors",
    "pizza": "fixed-width/networks/5ed1f0b86c80.safetensors",
}


def default_gallery() -> Path | None:
    """The gallery beside this package's source, in the current directory, or in the installed
    package.
    """
    for candidate in (PACKAGE.parents[1] / "gallery", Path("gallery"), PACKAGE / "gallery"):
        if candidate.is_dir():
            return candidate
    return None


def shipped_sweeps() -> list[str]:
    """The names of the shipped sweeps, in the order of the alphabet."""
    gallery = default_gallery()
    if gallery is None:
        return []
    return sorted(path.parent.name for path in gallery.glob("[!.]*/sweep.json"))


def shipped_network(path: Path) -> Path:
    """A path, or the shipped network of that name where there is nothing else of it: `clock`,
    `pizza`.
    """
    gallery = default_gallery()
    file = NETWORKS.get(str(path))
    if gallery is None or file is None or path.exists():
        return path
    return gallery / file
