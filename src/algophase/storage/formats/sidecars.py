"""The JSON files beside a network, and the training settings that they state."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from algophase.core.errors import InputError
from algophase.storage.files import JsonFile
from algophase.storage.formats.config import is_number, plain_number
from algophase.storage.formats.contents import GENERIC_NAMES, NetworkFile

NAMES = ("cfg", "config", "args", "hparams")
# Our columns, and what training scripts call them. A loss or an accuracy is no setting.
TRAINING_NAMES = {
    "epochs": ("epochs", "num_epochs", "n_epochs", "epoch"),
    "learning_rate": ("learning_rate", "lr"),
    "weight_decay": ("weight_decay", "wd"),
    "training_fraction": ("training_fraction", "frac_train", "train_frac", "frac"),
    "seed": ("seed",),
    "batch_size": ("batch_size",),
}


def sidecars(path: Path) -> list[Path]:
    """The JSON files that are about this network alone, as far as they are there: NAME.cfg.json,
    or cfg.json in a folder whose network has no name of its own.
    """
    candidates = [NetworkFile(path).beside.path, path.with_suffix(".json")]
    candidates += [path.with_suffix(f".{name}.json") for name in NAMES]
    if path.stem in GENERIC_NAMES:
        candidates += [path.with_name(f"{name}.json") for name in NAMES]
    return [candidate for candidate in dict.fromkeys(candidates) if candidate.is_file()]


def training_columns(path: Path, inside: Mapping[str, Any]) -> dict[str, Any]:
    """Training settings as the files beside a network state them, or a config inside it.

    inside: what the file holds beside its tensors. What is not a number is left out.
    """
    mappings = [inside, *(value for value in inside.values() if isinstance(value, Mapping))]
    for beside in sidecars(path):
        try:
            mappings.append(JsonFile(beside, "the config of this network,").object)
        except InputError:  # whoever needs it says what is wrong with it
            continue
    columns = dict[str, Any]()
    for ours, names in TRAINING_NAMES.items():
        for mapping in mappings:
            values = [mapping[name] for name in names if is_number(mapping.get(name))]
            if values and ours not in columns:
                columns[ours] = plain_number(values[0])
    return columns
