"""Reading and writing networks. `load` takes ours and other groups' files alike (`formats`); no
code in a file ever runs.
"""

from dataclasses import replace
from pathlib import Path

from algophase.analysis.operation import group_of_answers, with_group
from algophase.core.errors import InputError, one_line
from algophase.core.gallery import shipped_network, shipped_sweeps
from algophase.core.given_group import given_group
from algophase.core.group import Group
from algophase.core.settings import shown
from algophase.networks import Network
from algophase.storage.certificates import certificate_note
from algophase.storage.files import given_path
from algophase.storage.formats.contents import SUFFIXES, Contents, NetworkFile, Reading
from algophase.storage.formats.find import id_beside, recognize
from algophase.storage.formats.ours import OURS
from algophase.storage.formats.released import RELEASED
from algophase.storage.hub import is_address, load_address
from algophase.storage.identity import DESCRIPTION
from algophase.storage.network_files import save

__all__ = ["find_networks", "id_of", "load", "load_file", "save"]


def find_networks(path: str | Path) -> list[Path]:
    """The network files a path stands for: itself, or every network file directly inside a
    directory, in order; of a sweep's directory, the networks that it has kept.
    """
    path = shipped_network(given_path(path))
    try:
        if not path.is_dir():
            return [path]
        entries = sorted(path.iterdir())
        if (path / DESCRIPTION).exists():
            kept = [*path.glob("runs-*/networks/*"), *path.glob("networks/*")]
            entries = [*entries, *sorted(kept)]
    except OSError as error:  # a directory that may not be read, a name that is too long
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    files = [
        entry for entry in entries if entry.suffix in SUFFIXES and not entry.name.startswith(".")
    ]
    if not files:
        raise InputError(f"{path} holds no network; expected files ending in {', '.join(SUFFIXES)}")
    return files


def id_of(file: NetworkFile) -> str:
    """The id that `load` will give a network, by its name and the JSON file beside it; empty where
    that cannot be read.
    """
    try:
        return id_beside(file)
    except Exception:  # `load` says what is wrong with it
        return ""


def load(
    path: str | Path,
    format: str | None = None,
    activation: str | None = None,
    *,
    attention_rate: float | None = None,
    modulus: int | None = None,
    state: str | None = None,
    group: object = None,
) -> Network:
    """Load a network from a file: one of ours, the authors' released ones, or other groups'.

    `load("clock")` and `load("pizza")` are two trained networks that come with the package.
    `load("hf://user/name")` downloads one from the Hugging Face Hub, as
    `from_pretrained("user/name")` does. No code from a file is ever run.

    Arguments:
        path: a file, or a directory with just one network.
        format: the file's format; by default the one whose tensors it has.
        activation, attention_rate, modulus: what the file does not say. A value that contradicts
            the file is an error.
        state: which state dict to take from a file with several, by its name there.
        group: the finite group that the network is on, as `analyze` takes it, or the file of
            another network whose answers form it. By default what the file says, or what the
            network's answers form.

    Returns:
        The network. Its `notes` say how the file was read, and what was assumed.

    Raises:
        InputError: the file cannot be read; the message says what is wrong or missing.

    Example:
        >>> from algophase import handmade_pizza
        >>> path = save(handmade_pizza(23), directory / "pizza")
        >>> load(path).id
        'pizza-p23-k1-5'
    """
    candidates = find_networks(path)
    if len(candidates) > 1:
        raise InputError(
            f"{path} holds {len(candidates)} networks; name one of them, such as {candidates[0]}"
        )
    reading = Reading(format, activation, attention_rate, modulus, state, group)
    return load_file(NetworkFile(candidates[0]), reading)


def load_file(file: NetworkFile, reading: Reading = Reading()) -> Network:
    """`load` of one file, with the JSON beside it that may have been read already."""
    if not is_address(file.path) and not file.path.exists():
        raise InputError(f"{file.path} does not exist; {_instead_of(file.path)}")
    asked = reading
    if reading.group is not None:
        group = _given_group(reading.group)
        asked = replace(reading, group=group, modulus=reading.modulus or group.order)
    try:
        network = _read(Contents(file, reading.state), asked)
        network.notes = (*network.notes, *certificate_note(file.path, network))
        return network if reading.group is None else with_group(network, asked.group)
    except InputError:
        raise
    # A reader may stumble over anything, and formats come from other packages too
    except Exception as error:
        raise InputError(f"{file.path} cannot be read: {one_line(error)}") from error


def _instead_of(path: Path) -> str:
    """What to give in place of a file that does not exist."""
    if str(path) in shipped_sweeps():
        return f"{path} is a shipped sweep, and here goes a network, such as clock or pizza"
    return "give a network's file, a directory of them, or a shipped network: clock or pizza"


def _given_group(asked: object) -> Group:
    """As `given_group` takes it, or the file of a network whose answers form the group."""
    if not isinstance(asked, str | Path) or Path(asked).suffix not in SUFFIXES:
        return given_group(asked)
    network = load_file(NetworkFile(Path(asked)))
    return group_of_answers(network)


def _read(contents: Contents, reading: Reading) -> Network:
    path = contents.path
    if is_address(path):
        network = load_address(path)
        _check_said(network, reading, path)
        return network
    fitting = recognize(contents, reading.format)
    if reading.state is not None and fitting is OURS:
        raise InputError(f"{path} holds one network; state {reading.state!r} is not in it")
    fitting.check_all_known(contents)
    try:
        network = fitting.read(contents, reading)
    except InputError as error:
        names_its_file = fitting in (OURS, RELEASED) or path.name in str(error)
        raise error if names_its_file else InputError(f"{path}: {error}") from None
    if not isinstance(network, Network):
        raise InputError(
            f"{path}: format {fitting.name} gives {shown(network)}, which is not a network"
        )
    _check_said(network, reading, path)
    if fitting not in (OURS, RELEASED):
        network.notes = (f"taken for {fitting.description}: format {fitting.name}", *network.notes)
    network.notes = (*network.notes, *contents.notes)
    return network


def _check_said(network: Network, reading: Reading, path: Path) -> None:
    """That a network is what the user says it is, where its kind has such a setting."""
    settings = {**network.settings.to_dict(), "modulus": network.task.modulus}
    for name in ("activation", "attention_rate", "modulus"):
        stated = getattr(reading, name)
        if stated is not None and name in settings and settings[name] != stated:
            option = f"--{name.replace('_', '-')}"
            if name == "modulus" and isinstance(reading.group, Group):
                raise InputError(
                    f"{path}: it answers with {settings[name]} numbers; the group given has "
                    f"{stated} elements"
                )
            raise InputError(
                f"{path}: its {name.replace('_', ' ')} is {settings[name]}, which contradicts "
                f"{option} {stated}"
            )
