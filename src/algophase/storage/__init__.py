"""Reading and writing networks. `load` takes our files and the authors' released ones alike; no code in a file ever runs."""

from pathlib import Path

from algophase.errors import InputError
from algophase.networks import Network
from algophase.storage.files import given_path
from algophase.storage.network_files import load_network, save, stored_id
from algophase.storage.released import load_released, released_id

__all__ = ["find_networks", "id_of", "load", "save"]

LOADERS = {".safetensors": load_network, ".pt": load_released}
IDS = {".safetensors": stored_id, ".pt": released_id}


def find_networks(path: str | Path) -> list[Path]:
    """The network files a path stands for: itself, or every network file directly inside a directory, in order."""
    path = given_path(path)
    if not path.is_dir():
        return [path]
    found = sorted(entry for entry in path.iterdir() if entry.suffix in LOADERS and not entry.name.startswith("."))
    if not found:
        raise InputError(f"{path} holds no network; expected files ending in {' or '.join(LOADERS)}")
    return found


def id_of(path: Path) -> str:
    """The id that `load` will give a network, from the description beside it; empty where that cannot be read."""
    try:
        return IDS[path.suffix](path) if path.suffix in IDS else ""
    except InputError:
        return ""


def load(path: str | Path) -> Network:
    """A network from NAME.safetensors (ours) or model_<id>.pt (the authors'), or from a directory that holds just one.

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
    if path.suffix not in LOADERS:
        raise InputError(f"{path} ends in {path.suffix or 'nothing'!r}; a network file ends in {' or '.join(LOADERS)}")
    return LOADERS[path.suffix](path)
