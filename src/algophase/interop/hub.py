"""Networks on the Hugging Face Hub: model.safetensors, config.json, a model card and a picture.

Only those two files are ever downloaded, the description first; it is checked before any tensor is fetched. Files that
can hold code (.bin, .pt, .pkl) are neither downloaded nor opened.
"""

import importlib
import logging
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from algophase.analysis.analyze import Analysis, analyze
from algophase.analysis.specimen import Specimen
from algophase.errors import InputError, import_extra
from algophase.interop.model_card import PICTURE_FILE, check_license, model_card
from algophase.networks import Network
from algophase.report.figures import draw_correct_logits
from algophase.report.style import house_style, save_figure
from algophase.storage.files import write_atomically
from algophase.storage.network_files import CONFIG_FILE, MODEL_FILE, encode, load_network, read_description

CARD_FILE = "README.md"
PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
LOG_IN = "log in with `hf auth login` or set HF_TOKEN"


def save_pretrained(
    network: Network,
    directory: str | Path,
    *,
    license: str | None = None,
    analysis: Analysis | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a directory ready for the Hub and return its path. analysis: of this network, where there is one already.

    >>> from algophase import handmade_pizza
    >>> folder = save_pretrained(handmade_pizza(23), directory / "hub-pizza", license="mit")
    >>> sorted(file.name for file in folder.iterdir())
    ['README.md', 'config.json', 'correct_logits.png', 'model.safetensors']
    """
    return _write(network, Path(directory), license, analysis, None, overwrite)


def _write(
    network: Network, directory: Path, license: str | None, analysis: Analysis | None, name: str | None, overwrite: bool
) -> Path:
    present = [file for file in (MODEL_FILE, CONFIG_FILE, CARD_FILE, PICTURE_FILE) if (directory / file).exists()]
    if present and not overwrite:
        raise InputError(f"{directory} holds {', '.join(present)} already; choose another directory or allow overwriting")
    check_license(license)
    tensors, description = encode(network)
    analysis = analyze(network) if analysis is None else analysis
    card = model_card(network, analysis, license=license, name=name)
    write_atomically(directory / MODEL_FILE, tensors)
    write_atomically(directory / CONFIG_FILE, description)
    write_atomically(directory / CARD_FILE, card.encode())
    with house_style():
        save_figure(draw_correct_logits(Specimen(network, analysis)), directory / PICTURE_FILE)
    return directory


def from_pretrained(
    name_or_directory: str | Path,
    *,
    revision: str | None = None,
    token: str | None = None,
    cache_dir: str | Path | None = None,
    local_files_only: bool = False,
) -> Network:
    """A network from a directory, which needs no network connection and no huggingface_hub, or from a repository of the Hub.

    revision: a branch, tag or commit; local_files_only: what was downloaded before, without asking the Hub.

    >>> from algophase import handmade_clock
    >>> folder = save_pretrained(handmade_clock(23), directory / "hub-clock")
    >>> from_pretrained(folder).settings.kind
    'clock'
    """
    directory = Path(name_or_directory)
    if str(name_or_directory) and directory.is_dir():
        if revision is not None:
            raise InputError(f"revision is {revision!r}, but {directory} is a directory; revisions are the Hub's")
        _check_files(str(directory), [entry.name for entry in directory.iterdir()])
        return load_network(directory / MODEL_FILE)
    name = str(name_or_directory)
    if isinstance(name_or_directory, Path) or not _is_repository(name):
        raise InputError(f"{name!r} is neither a directory nor a repository's id such as 'user/name'")
    hub = _import_hub()
    options: dict[str, Any] = {"token": token, "cache_dir": cache_dir, "local_files_only": local_files_only}
    config = Path(_download(hub, name, CONFIG_FILE, revision, options))
    read_description(config)
    # Files are kept in a folder named by their commit: the tensors come from the commit the description came from.
    commit = config.parent.name if re.fullmatch(r"[0-9a-f]{40}", config.parent.name) else revision
    return load_network(Path(_download(hub, name, MODEL_FILE, commit, options)))


def push_to_hub(
    network: Network,
    repo_id: str,
    *,
    license: str | None = None,
    private: bool | None = None,
    token: str | None = None,
    revision: str | None = None,
    commit_message: str | None = None,
    analysis: Analysis | None = None,
) -> str:
    """Create the repository if there is none, upload the network with its card, and return the repository's URL.

    A card that is there already is replaced; the Hub keeps the old one in its history.

    >>> push_to_hub(network, "user/my-network", license="mit", private=True)  # doctest: +SKIP
    'https://huggingface.co/user/my-network'
    """
    if not _is_repository(repo_id):
        raise InputError(f"repo_id is {repo_id!r}; give 'name' or 'user/name' of letters, digits, '-', '_' and '.'")
    check_license(license)
    hub = _import_hub()
    encode(network)  # that it can be
    analysis = analyze(network) if analysis is None else analysis  # before anything is made on the Hub
    api = hub.HfApi(token=token, library_name="algophase")
    with _clear_errors(f"cannot create repository {repo_id}", repo_id, revision):
        url = api.create_repo(repo_id=repo_id, private=private, exist_ok=True)
    full_id = getattr(url, "repo_id", repo_id)  # with the user's name, if it was left out
    message = commit_message or f"Upload {analysis.id}: {analysis.verdict.label}"
    with tempfile.TemporaryDirectory() as folder:
        _write(network, Path(folder), license, analysis, full_id, overwrite=False)
        with _clear_errors(f"cannot upload to {full_id}", full_id, revision):
            api.upload_folder(repo_id=full_id, folder_path=folder, revision=revision, commit_message=message)
    return str(url)


def _is_repository(name: str) -> bool:
    part = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?"
    return re.fullmatch(f"{part}(/{part})?", name) is not None and ".." not in name and "--" not in name


def _import_hub() -> Any:
    return import_extra("huggingface_hub", "the Hub needs huggingface_hub", "hub")


def _download(hub: Any, name: str, file: str, revision: str | None, options: dict[str, Any]) -> str:
    with _clear_errors(f"cannot download {file} of {name}", name, revision), _quiet():
        try:
            return hub.hf_hub_download(name, file, revision=revision, library_name="algophase", **options)
        except hub.errors.LocalEntryNotFoundError:
            raise
        except hub.errors.EntryNotFoundError:
            _check_files(name, hub.HfApi(token=options["token"]).list_repo_files(name, revision=revision))
            raise


def _check_files(where: str, files: list[str]) -> None:
    """That both our files are there; where there are only pickles, say why they are not taken."""
    missing = [file for file in (MODEL_FILE, CONFIG_FILE) if file not in files]
    if not missing:
        return
    pickles = sorted(file for file in files if file.endswith(PICKLES))
    refused = f"; {', '.join(pickles[:3])} can hold code and is refused" if pickles and MODEL_FILE in missing else ""
    raise InputError(f"{where} holds no {' and no '.join(missing)}{refused}; save_pretrained writes both")


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the client's warnings, one or two per attempt. A caller who asked for more detail still gets it."""
    log = importlib.import_module("huggingface_hub.utils.logging")
    before = log.get_verbosity()
    if before == logging.WARNING:
        log.set_verbosity_error()
    try:
        yield
    finally:
        log.set_verbosity(before)


@contextmanager
def _clear_errors(what: str, name: str, revision: str | None) -> Iterator[None]:
    """huggingface_hub raises its own errors, and those of whichever library it speaks HTTP with: one line for each."""
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
    said = (str(error).strip() or "no reason given").splitlines()[0]
    if status is None and kinds & {"ConnectionError", "ConnectError", "TransportError", "TimeoutException", "Timeout"}:
        return f"the Hub cannot be reached ({said})"
    return f"{type(error).__name__}: {said}"
