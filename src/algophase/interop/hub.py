"""Networks for the Hugging Face Hub: model.safetensors, config.json, a model card and a picture.

`storage/hub.py` reads them.
"""

import tempfile
from pathlib import Path

from algophase.analysis.analyze import analyze
from algophase.analysis.result import Analysis
from algophase.analysis.specimen import Specimen
from algophase.core.errors import InputError
from algophase.interop._model_card import PICTURE_FILE, check_license, model_card
from algophase.networks import Network
from algophase.reports.figures import logits_figure
from algophase.reports.save_figure import save_figure
from algophase.storage.files import write_atomically
from algophase.storage.hub import clear_errors, import_hub, is_repository
from algophase.storage.network_files import CONFIG_FILE, MODEL_FILE, encode

CARD_FILE = "README.md"


def save_pretrained(
    network: Network,
    directory: str | Path,
    *,
    license: str | None = None,
    analysis: Analysis | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a network as a directory that is ready for the Hugging Face Hub.

    Arguments:
        network: the network.
        directory: where to write model, configuration, card and picture.
        license: a license of the Hub, such as "mit".
        analysis: the network's analysis, if you have it already.
        overwrite: replace files that are there.

    Returns:
        The directory's path.

    Raises:
        InputError: the directory has such files and `overwrite` is False, or the license is
            unknown.

    Example:
        >>> from algophase import handmade_pizza
        >>> folder = save_pretrained(handmade_pizza(23), directory / "hub-pizza", license="mit")
        >>> sorted(file.name for file in folder.iterdir())
        ['README.md', 'config.json', 'correct_logits.png', 'model.safetensors']
    """
    return _write(network, Path(directory), license, analysis, None, overwrite)


def _write(
    network: Network,
    directory: Path,
    license: str | None,
    analysis: Analysis | None,
    name: str | None,
    overwrite: bool,
) -> Path:
    present = [
        file
        for file in (MODEL_FILE, CONFIG_FILE, CARD_FILE, PICTURE_FILE)
        if (directory / file).exists()
    ]
    if present and not overwrite:
        raise InputError(
            f"{directory} holds {', '.join(present)} already; choose another directory or allow "
            "overwriting"
        )
    check_license(license)
    analysis = analyze(network) if analysis is None else analysis
    tensors, description = encode(network, analysis)
    card = model_card(network, analysis, license=license, name=name)
    write_atomically(directory / MODEL_FILE, tensors)
    write_atomically(directory / CONFIG_FILE, description)
    write_atomically(directory / CARD_FILE, card.encode())
    picture = logits_figure(Specimen(network, analysis))
    save_figure(picture, directory / PICTURE_FILE)
    return directory


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
    """Upload a network and its card to the Hugging Face Hub.

    The repository is created if it does not exist. An existing card is replaced; the Hub keeps the
    old one in its history. It needs the extra `hub`.

    Arguments:
        network: the network.
        repo_id: the repository, as "user/name".
        license: a license of the Hub, such as "mit".
        private: whether a new repository is private.
        token: an access token; by default the one you logged in with.
        revision: the branch to push to.
        commit_message: by default a message of ours.
        analysis: the network's analysis, if you have it already.

    Returns:
        The repository's URL.

    Raises:
        InputError: the Hub refuses the upload, or the extra is missing.

    Example:
        >>> push_to_hub(network, "user/my-network", license="mit", private=True)  # doctest: +SKIP
        'https://huggingface.co/user/my-network'
    """
    if not is_repository(repo_id):
        raise InputError(
            f"repo_id is {repo_id!r}; give 'name' or 'user/name' of letters, digits, '-', '_' "
            "and '.'"
        )
    check_license(license)
    hub = import_hub()
    # Both before anything is made on the Hub
    analysis = analyze(network) if analysis is None else analysis
    encode(network, analysis)
    api = hub.HfApi(token=token, library_name="algophase")
    with clear_errors(f"cannot create repository {repo_id}", repo_id, revision):
        url = api.create_repo(repo_id=repo_id, private=private, exist_ok=True)
    full_id = getattr(url, "repo_id", repo_id)  # with the user's name, if it was left out
    message = commit_message or f"Upload {analysis.id}: {analysis.verdict.label}"
    with tempfile.TemporaryDirectory() as folder:
        _write(network, Path(folder), license, analysis, full_id, overwrite=False)
        with clear_errors(f"cannot upload to {full_id}", full_id, revision):
            api.upload_folder(
                repo_id=full_id, folder_path=folder, revision=revision, commit_message=message
            )
    return str(url)
