"""The spaces that come with the package: the paper's experiments (`paper_spaces.toml`) and our own
(`our_spaces.toml`).
"""

import tomllib
from dataclasses import replace
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path

from algophase.core.errors import InputError
from algophase.sweeps.spaces import Space, load_space


def _read_spaces(file_name: str) -> dict[str, Space]:
    """The spaces of a file of this folder, by name. A table of the file is what a user's own file
    would be, with two entries more: `figures` and `paper_runs`.
    """
    text = files("algophase.sweeps").joinpath(file_name).read_text(encoding="utf-8")
    spaces = {}
    for name, entries in tomllib.loads(text).items():
        figures = tuple(entries.pop("figures", ()))
        paper_runs = entries.pop("paper_runs", None)
        space = Space.from_dict({"name": name, **entries})
        spaces[name] = replace(space, figures=figures, paper_runs=paper_runs)
    return spaces


PAPER_SPACES = _read_spaces("paper_spaces.toml")
OUR_SPACES = _read_spaces("our_spaces.toml")
SPACES = {**PAPER_SPACES, **OUR_SPACES}


def find_space(name: str) -> Space:
    """A space by its name, or a user's own from a TOML file."""
    if name in SPACES:
        return SPACES[name]
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        return load_space(path)
    likely = get_close_matches(name, SPACES, n=1, cutoff=0.8)
    if likely:
        raise InputError(f"space is {name!r}; did you mean {likely[0]}?")
    raise InputError(
        f"space is {name!r}; choose one of {', '.join(SPACES)}, or give a .toml file of your own"
    )
