"""Which format a file is of: all formats are asked in their order, those of other packages last."""

from functools import cache
from importlib.metadata import entry_points

from algophase.core.errors import InputError
from algophase.storage.formats.concatenated_mlp import CONCATENATED_MLP
from algophase.storage.formats.contents import SUFFIXES, Contents, Format, NetworkFile
from algophase.storage.formats.one_hot_mlp import ONE_HOT_MLP
from algophase.storage.formats.ours import OURS
from algophase.storage.formats.progress_measures import PROGRESS_MEASURES
from algophase.storage.formats.released import RELEASED
from algophase.storage.formats.transformer_lens import TRANSFORMER_LENS

GROUP = "algophase.formats"  # of entry points, each of which names a Format
KNOWN = (OURS, PROGRESS_MEASURES, RELEASED, TRANSFORMER_LENS, CONCATENATED_MLP, ONE_HOT_MLP)
MOST_LISTED = 12  # tensors of a file that nobody recognizes


@cache
def formats() -> dict[str, Format]:
    """All formats by name."""
    by_name = {built_in.name: built_in for built_in in KNOWN}
    for entry in entry_points(group=GROUP):
        try:
            added = entry.load()
        except Exception as error:  # whatever another package does when it is imported
            raise InputError(
                f"format {entry.name} of {entry.value} cannot be loaded: {error}"
            ) from None
        if not isinstance(added, Format):
            raise InputError(f"format {entry.name} of {entry.value} is not an algophase Format")
        by_name.setdefault(added.name, added)
    return by_name


def recognize(contents: Contents, name: str | None = None) -> Format:
    """The format of a file, or the one asked for."""
    by_name = formats()
    path = contents.path
    if name is not None and name not in by_name:
        raise InputError(f"format is {name!r}; choose one of {', '.join(by_name)}")
    if path.suffix not in SUFFIXES:
        ending = f"ends in {path.suffix!r}" if path.suffix else "has no suffix"
        raise InputError(f"{path} {ending}; a network file ends in {', '.join(SUFFIXES)}")
    if name is not None:
        asked_for = by_name[name]
        if not asked_for.fits(contents):
            raise InputError(
                f"{path} is not of format {name}, which looks for {asked_for.tensors}; it has "
                f"{_listed(contents)}"
            )
        return asked_for
    for candidate in by_name.values():
        # The first that fits: a format that fails on a file which another one reads is not asked.
        if candidate.fits(contents):
            return candidate
    looked_for = "; ".join(f"{name}: {candidate.tensors}" for name, candidate in by_name.items())
    lost = ""
    if path.suffix == ".safetensors":
        lost = f" The description of this network, {path.with_suffix('.json')} is missing."
    raise InputError(
        f"{path}: no format fits.{lost} It has {_listed(contents)}. Looked for {looked_for}"
    )


def id_beside(file: NetworkFile) -> str:
    """The id that a network will have, without its tensors being read; "" where nothing says it."""
    for candidate in formats().values():
        network_id = candidate.id_beside(file)
        if network_id:
            return network_id
    return file.name


def _listed(contents: Contents) -> str:
    shapes = [f"{name} {tuple(value.shape)}" for name, value in contents.tensors.items()]
    more = f" and {len(shapes) - MOST_LISTED} more" if len(shapes) > MOST_LISTED else ""
    return f"{', '.join(shapes[:MOST_LISTED])}{more}"
