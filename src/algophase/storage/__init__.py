"""Reading and writing networks. `load` takes ours and other groups' files alike (`formats`); no code in a file ever runs."""

from pathlib import Path

from algophase.errors import InputError
from algophase.networks import Network
from algophase.storage.files import given_path
from algophase.storage.formats.contents import SUFFIXES, Contents, Reading
from algophase.storage.formats.find import recognise
from algophase.storage.formats.ours import OURS
from algophase.storage.formats.released import RELEASED
from algophase.storage.network_files import save

__all__ = ["find_networks", "id_of", "load", "save"]


def find_networks(path: str | Path) -> list[Path]:
    """The network files a path stands for: itself, or every network file directly inside a directory, in order."""
    path = given_path(path)
    if not path.is_dir():
        return [path]
    found = sorted(entry for entry in path.iterdir() if entry.suffix in SUFFIXES and not entry.name.startswith("."))
    if not found:
        raise InputError(f"{path} holds no network; expected files ending in {', '.join(SUFFIXES)}")
    return found


def id_of(path: Path) -> str:
    """The id that `load` will give a network; empty where it cannot be read."""
    try:
        return recognise(Contents(path)).id_of(path)
    except InputError:
        return ""


def load(path: str | Path, format: str | None = None, activation: str | None = None) -> Network:
    """A network from a file, or from a directory that holds just one: ours, the authors' released ones, other groups'.

    format: which format it is of; by default the one whose tensors it has. activation: where the file does not say.
    What it was taken for is in the network's `notes`.

    >>> from algophase import handmade_pizza
    >>> path = save(handmade_pizza(23), directory / "pizza")
    >>> load(path).id
    'pizza-p23-k1-5'
    """
    candidates = find_networks(path)
    if len(candidates) > 1:
        raise InputError(f"{path} holds {len(candidates)} networks; name one of them, such as {candidates[0]}")
    path = candidates[0]
    if not path.exists():
        raise InputError(f"{path} does not exist")
    contents = Contents(path)
    found = recognise(contents, format)
    network = found.read(contents, Reading(activation))
    if found not in (OURS, RELEASED):
        network.notes = (f"taken for {found.description}: format {found.name}", *network.notes)
    return network
