"""Which format a file is of: all formats are asked in their order, those of other packages last."""

from functools import cache
from importlib.metadata import entry_points
from pathlib import Path

from algophase.core.errors import InputError
from algophase.storage.formats.concatenated_mlp import CONCATENATED_MLP
from algophase.storage.formats.contents import SUFFIXES, Contents, Format
from algophase.storage.formats.one_hot_mlp import ONE_HOT_MLP
from algophase.storage.formats.ours import OURS
from algophase.storage.formats.progress_measures import PROGRESS_MEASURES
from algophase.storage.formats.released import RELEASED
from algophase.storage.formats.transformer_lens import TRANSFORMER_LENS

GROUP = "algophase.formats"  # of entry points, each of which names a Format
KNOWN = (OURS, PROGRESS_MEASURES, RELEASED, TRANSFORMER_LENS, CONCATENATED_MLP, ONE_HOT_MLP)
MOST_LISTED = 12  # tensors of a file that nobody recognises


@cache
def formats() -> dict[str, Format]:
    """All formats by name."""
    found = {each.name: each for each in KNOWN}
    for entry in entry_points(group=GROUP):
        try:
            added = entry.load()
        except Exception as error:  # whatever another package does when it is imported
            raise InputError(
                f"format {entry.name} of {entry.value} cannot be loaded: {error}"
            ) from None
        if not isinstance(added, Format):
            raise InputError(f"format {entry.name} of {entry.value} is not an algophase Format")
        found.setdefault(added.name, added)
    return found


def recognise(contents: Contents, name: str | None = None) -> Format:
    """The format of a file, or the one asked for."""
    known, path = formats(), contents.path
    if name is not None and name not in known:
        raise InputError(f"format is {name!r}; choose one of {', '.join(known)}")
    if path.suffix not in SUFFIXES:
        raise InputError(
            f"{path} ends in {path.suffix or 'nothing'!r}; a network file ends in "
            f"{', '.join(SUFFIXES)}"
        )
    if name is not None:
        asked_for = known[name]
        if not asked_for.fits(contents):
            raise InputError(
                f"{path} is not of format {name}, which looks for {asked_for.tensors}; it has "
                f"{_listed(contents)}"
            )
        return asked_for
    for candidate in known.values():
        # The first that fits: a format that fails on a file which another one reads is not asked.
        if candidate.fits(contents):
            return candidate
    wanted = "; ".join(f"{each.name}: {each.tensors}" for each in known.values())
    lost = (
        f" The description of this network, {path.with_suffix('.json')} is missing."
        if path.suffix == ".safetensors"
        else ""
    )
    raise InputError(
        f"{path}: no format fits.{lost} It has {_listed(contents)}. Looked for {wanted}"
    )


def format_of(path: Path) -> Format:
    return recognise(Contents(path))


def _listed(contents: Contents) -> str:
    shapes = [f"{name} {tuple(value.shape)}" for name, value in contents.tensors.items()]
    more = f" and {len(shapes) - MOST_LISTED} more" if len(shapes) > MOST_LISTED else ""
    return f"{', '.join(shapes[:MOST_LISTED])}{more}"
