"""algophase's own files: NAME.safetensors with NAME.json beside it (`network_files`)."""

from algophase.networks import Network
from algophase.storage.formats.contents import Contents, Format, Reading
from algophase.storage.network_files import described_beside, load_network, stored_id


def _fits(contents: Contents) -> bool:
    return contents.path.suffix == ".safetensors" and described_beside(contents.path)


def _read(contents: Contents, reading: Reading) -> Network:
    return load_network(contents.path)


OURS = Format(
    "algophase",
    "a network saved by algophase",
    "NAME.json beside NAME.safetensors",
    _fits,
    _read,
    stored_id,
)
