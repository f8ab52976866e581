"""Networks from the Hugging Face Hub: model.safetensors and config.json.

Only those two files are ever downloaded, the description first; it is checked before any tensor is
fetched. Files that can hold code (.bin, .pt, .pkl) are neither downloaded nor opened.
`interop/hub.py` writes and uploads them.
"""

import importlib
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from algophase.core.errors import InputError, import_extra
from algophase.networks import Network
from algophase.storage.files import JsonFile
from algophase.storage.formats.ours import load_network, read_description
from algophase.storage.network_files import CONFIG_FILE, MODEL_FILE

PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
LOG_IN = "log in with `hf auth login` or set HF_TOKEN"
ADDRESS = re.compile(
    r"hf:/{0,2}(?P<name>[^@]*)(@(?P<revision>.*))?"
)  # a Path makes one slash of two, and none of "hf://"


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the address of a repository: hf://user/name or hf://user/name@revision."""
    return ADDRESS.fullmatch(str(path)) is not None


def load_address(address: str | os.PathLike[str]) -> Network:
    """The network at hf://user/name or hf://user/name@revision."""
    parts = ADDRESS.fullmatch(str(address))
    name = "" if parts is None else parts["name"]
    if parts is None or not is_repository(name) or parts["revision"] == "":
        raise InputError(
            f"the address is {str(address)!r}; it must be hf://user/name or hf://user/name@revision"
        )
    return _from_repository(name, parts["revision"], {})


def from_pretrained(
    name_or_directory: str | Path,
    *,
    revision: str | None = None,
    token: str | None = None,
    cache_dir: str | Path | None = None,
    local_files_only: bool = False,
) -> Network:
    """Load a network from a directory or from a repository of the Hugging Face Hub.

    A directory needs no network connection. The Hub needs the extra `hub`.

    Arguments:
        name_or_directory: a directory, or a repository as "user/name".
        revision: a branch, tag or commit.
        token: an access token; by default the one you logged in with.
        cache_dir: where downloads are kept.
        local_files_only: use what was downloaded before, without asking the Hub.

    Returns:
        The network.

    Raises:
        InputError: there is no such directory or repository, or it has no network.

    Example:
        >>> from algophase import handmade_clock, save_pretrained
        >>> folder = save_pretrained(handmade_clock(23), directory / "hub-clock")
        >>> from_pretrained(folder).settings.kind
        'clock'
    """
    directory = Path(name_or_directory)
    if str(name_or_directory) and directory.is_dir():
        if revision is not None:
            raise InputError(
                f"revision is {revision!r}, but {directory} is a directory; revisions are the Hub's"
            )
        _check_files(str(directory), [entry.name for entry in directory.iterdir()])
        return load_network(directory / MODEL_FILE)
    name = str(name_or_directory)
    if isinstance(name_or_directory, Path) or not is_repository(name):
        raise InputError(
            f"{name!r} is neither a directory nor a repository's id such as 'user/name'"
        )
    options: dict[str, Any] = {
        "token": token,
        "cache_dir": cache_dir,
        "local_files_only": local_files_only,
    }
    return _from_repository(name, revision, options)


def _from_repository(name: str, revision: str | None, options: dict[str, Any]) -> Network:
    """options: of the client's download."""
    hub = import_hub()
    config = Path(_download(hub, name, CONFIG_FILE, revision, options))
    description = JsonFile(config, "the description of this network,")
    read_description(description)
    # Files are kept in a folder named by their commit: the tensors come from the commit the
    # description came from.
    commit = config.parent.name if re.fullmatch(r"[0-9a-f]{40}", config.parent.name) else revision
    tensors = Path(_download(hub, name, MODEL_FILE, commit, options))
    return load_network(tensors, description)


def is_repository(name: str) -> bool:
    part = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?"
    return (
        re.fullmatch(f"{part}(/{part})?", name) is not None
        and ".." not in name
        and "--" not in name
    )


def import_hub() -> Any:
    return import_extra("huggingface_hub", "the Hub needs huggingface_hub", "hub")


def _download(hub: Any, name: str, file: str, revision: str | None, options: dict[str, Any]) -> str:
    with clear_errors(f"cannot download {file} of {name}", name, revision), _quiet():
        try:
            return hub.hf_hub_download(
                name, file, revision=revision, library_name="algophase", **options
            )
        except hub.errors.LocalEntryNotFoundError:
            raise
        except hub.errors.EntryNotFoundError:
            _check_files(
                name, hub.HfApi(token=options.get("token")).list_repo_files(name, revision=revision)
            )
            raise


def _check_files(where: str, files: list[str]) -> None:
    """That both our files are there; where there are only pickles, say why they are not taken."""
    missing = [file for file in (MODEL_FILE, CONFIG_FILE) if file not in files]
    if not missing:
        return
    pickles = sorted(file for file in files if file.endswith(PICKLES))
    refused = (
        f"; {', '.join(pickles[:3])} can hold code and is refused"
        if pickles and MODEL_FILE in missing
        else ""
    )
    raise InputError(
        f"{where} holds no {' and no '.join(missing)}{refused}; save_pretrained writes both"
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the client's warnings, one or two per attempt. A caller who asked for more detail
    still gets it.
    """
    log = importlib.import_module("huggingface_hub.utils.logging")
    verbosity = log.get_verbosity()
    if verbosity == logging.WARNING:
        log.set_verbosity_error()
    try:
        yield
    finally:
        log.set_verbosity(verbosity)


@contextmanager
def clear_errors(what: str, name: str, revision: str | None) -> Iterator[None]:
    """huggingface_hub raises its own errors, and those of whichever library it speaks HTTP with:
    one line for each.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{what}: {_reason(error, name, revision)}") from None


def _reason(error: Exception, name: str, revision: str | None) -> str:
    kinds = {kind.__name__ for kind in type(error).__mro__}
    status = getattr(getattr(error, "response", None), "status_code", None)
    if "GatedRepoError" in kinds:
        return f"{name} is gated; ask for access on its page, then {LOG_IN}"
    if "RevisionNotFoundError" in kinds:
        return f"{name} has no revision {revision!r}"
    if "LocalTokenNotFoundError" in kinds or status == 403:
        return f"a token that may write to {name} is needed; {LOG_IN}"
    if "RepositoryNotFoundError" in kinds:
        return f"there is no repository {name}, or it is private; check its name, or {LOG_IN}"
    if status == 401:
        return f"the Hub wants a valid token; {LOG_IN}"
    if kinds & {"LocalEntryNotFoundError", "OfflineModeIsEnabled"}:
        return "it was not downloaded before, and the Hub cannot be reached or was not to be asked"
    first_line = (str(error).strip() or "no reason given").splitlines()[0]
    if status is None and kinds & {
        "ConnectionError",
        "ConnectError",
        "TransportError",
        "TimeoutException",
        "Timeout",
    }:
        return f"the Hub cannot be reached ({first_line})"
    return f"{type(error).__name__}: {first_line}"
