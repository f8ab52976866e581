import builtins
import importlib
import json
import logging
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from commands import PATIENCE, call

import algophase
from algophase import (
    InputError,
    from_pretrained,
    handmade_clock,
    handmade_pizza,
    initialize,
    push_to_hub,
    save_pretrained,
)
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings

FILES = ["README.md", "config.json", "correct_logits.png", "model.safetensors"]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def pizza(tmp_path: Path) -> Path:
    return save_pretrained(handmade_pizza(11, (1, 3)), tmp_path / "pizza", license="mit")


def test_a_directory_holds_the_network_its_card_and_a_picture(pizza: Path) -> None:
    assert sorted(entry.name for entry in pizza.iterdir()) == FILES
    again, original = from_pretrained(pizza), handmade_pizza(11, (1, 3))
    assert (again.id, again.settings, again.task) == (original.id, original.settings, original.task)
    assert all(
        torch.equal(value, again.state_dict()[name])
        for name, value in original.state_dict().items()
    )
    assert algophase.load(pizza).id == algophase.load(pizza / "model.safetensors").id == original.id
    card = (pizza / "README.md").read_text()
    head, body = card.removeprefix("---\n").split("---\n", 1)
    assert head.splitlines() == [
        "library_name: algophase",
        "license: mit",
        "tags:",
        "- algophase",
        "- modular-addition",
        "- mechanistic-interpretability",
        "- pizza",
    ]
    for text in (
        "# pizza-p11-k1-3: Pizza",
        "![Correct logits",
        "| circularity | 1.0000 |",
        "algophase.from_pretrained(",
    ):
        assert text in body
    assert all(f"- {reason}\n" in body for reason in algophase.analyze(original).verdict.general)
    assert (pizza / "correct_logits.png").read_bytes().startswith(b"\x89PNG")


def test_the_hub_reads_the_card(pizza: Path) -> None:
    metadata = pytest.importorskip("huggingface_hub").ModelCard.load(pizza / "README.md").data
    assert (metadata.license, metadata.library_name, metadata.tags[-1]) == (
        "mit",
        "algophase",
        "pizza",
    )


def test_cards_of_every_kind_of_network(tmp_path: Path) -> None:
    layout = TaskSettings(modulus=5, separate_vocabularies=True, equals_sign=True)
    run = RunSettings(
        task=layout, network=TransformerSettings(width=8, layers=2, attention_rate=0.25), seed=3
    )
    card = (save_pretrained(initialize(run), tmp_path / "transformer") / "README.md").read_text()
    assert (
        "2 layers, width 8, 4 heads, relu, attention rate 0.25, separate vocabularies, an "
        "equals sign." in card
    )
    assert "circularity, the second operand's table" in card
    assert "- not-learned\n" in card
    assert "license" not in card
    assert json.loads(card.split("```json\n")[1].split("```")[0]) == run.to_dict()
    assert from_pretrained(tmp_path / "transformer").run == run
    card = (
        save_pretrained(handmade_clock(7, (1, 2)), tmp_path / "clock") / "README.md"
    ).read_text()
    assert "A Clock made by hand for addition modulo 7: frequencies 1, 2." in card


def test_an_id_cannot_write_into_the_card(tmp_path: Path) -> None:
    network = handmade_clock(7, (1,))
    network.id = "x\n<script>alert(1)</script>"
    assert "<script>" not in (save_pretrained(network, tmp_path / "a") / "README.md").read_text()


def test_nothing_is_overwritten_unasked(pizza: Path) -> None:
    with pytest.raises(
        InputError,
        match=r"pizza.*model\.safetensors, config\.json, README\.md, correct_logits\.png",
    ):
        save_pretrained(handmade_clock(7, (1,)), pizza)
    save_pretrained(handmade_clock(7, (1,)), pizza, overwrite=True)
    assert from_pretrained(pizza).id == "clock-p7-k1"


def test_bad_input_is_named_before_anything_is_written(tmp_path: Path) -> None:
    network = handmade_clock(7, (1,))
    with pytest.raises(InputError, match=r"license is 'MIT: yes\\n'.*mit"):
        save_pretrained(network, tmp_path / "a", license="MIT: yes\n")
    with torch.no_grad():
        network.embed.weight[0, 0] = torch.nan
    with pytest.raises(InputError, match="NaN"):
        save_pretrained(network, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_local_directories_are_checked_like_any_file(pizza: Path) -> None:
    with pytest.raises(InputError, match=r"revision is 'v1', but .*pizza is a directory"):
        from_pretrained(pizza, revision="v1")
    content = bytearray((pizza / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (pizza / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"does not match the checksum in config\.json"):
        from_pretrained(pizza)
    (pizza / "model.safetensors").rename(pizza / "pytorch_model.bin")
    with pytest.raises(
        InputError,
        match=r"model\.safetensors.*pytorch_model\.bin",
    ):
        from_pretrained(pizza)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "a/b/c",
        "./nowhere",
        "/nowhere",
        "user/..",
        "user/na me",
        "-user/name",
        Path("user/name"),
    ],
)
def test_what_is_neither_a_directory_nor_an_id(name: str | Path) -> None:
    with pytest.raises(
        InputError, match="is neither a directory nor a repository's id such as 'user/name'"
    ):
        from_pretrained(name)


def test_without_huggingface_hub_directories_still_work(
    pizza: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str, *rest: Any) -> Any:
        if name.startswith("huggingface_hub"):
            raise ImportError("No module named 'huggingface_hub'")
        return imports(name, *rest)

    imports = builtins.__import__
    monkeypatch.setattr(builtins, "__import__", missing)
    monkeypatch.setattr(importlib, "import_module", missing)
    assert from_pretrained(pizza).id == "pizza-p11-k1-3"
    for use in (
        lambda: from_pretrained("user/name"),
        lambda: push_to_hub(handmade_clock(7, (1,)), "user/name"),
    ):
        with pytest.raises(InputError, match=r'pip install "algophase\[hub\]"'):
            use()


class FakeHub(BaseHTTPRequestHandler):
    """What the Hub answers to a download, with its headers:
    /<repository>/resolve/<revision>/<file>.
    """

    repositories: dict[str, Path]
    asked: list[str]

    def do_HEAD(self) -> None:
        self._answer(False)

    def do_GET(self) -> None:
        self._answer(True)

    def _answer(self, body: bool) -> None:
        self.asked.append(self.path)
        name, _, rest = self.path.lstrip("/").partition("/resolve/")
        revision, _, file = rest.partition("/")
        path = self.repositories.get(name, Path("/nowhere")) / file
        if name not in self.repositories:
            self._refuse("RepoNotFound", 401)
        elif revision not in ("main", "v1", COMMIT):
            self._refuse("RevisionNotFound", 404)
        elif not path.exists():
            self._refuse("EntryNotFound", 404)
        else:
            self._send(path.read_bytes(), body)

    def _send(self, content: bytes, body: bool) -> None:
        self.send_response(200)
        for key, value in {
            "ETag": f'"{hash(content)}"',
            "X-Repo-Commit": COMMIT,
            "Content-Length": len(content),
        }.items():
            self.send_header(key, str(value))
        self.end_headers()
        if body:
            self.wfile.write(content)

    def _refuse(self, code: str, status: int) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None: ...


@pytest.fixture
def served(pizza: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The real client against a Hub on this machine that has user/pizza, user/other (no network
    of ours) and user/pickle.
    """
    client = pytest.importorskip("huggingface_hub")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "config.json").write_text('{"architectures": ["Llama"]}')
    (tmp_path / "pickle").mkdir()
    (tmp_path / "pickle" / "pytorch_model.bin").write_bytes(b"x")
    asked: list[str] = []
    folders = {f"user/{name}": tmp_path / name for name in ("pizza", "other", "pickle")}
    handler = type("Handler", (FakeHub,), {"repositories": folders, "asked": asked})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        endpoint = f"http://127.0.0.1:{server.server_port}"
        download = partial(client.hf_hub_download, endpoint=endpoint, etag_timeout=PATIENCE)
        monkeypatch.setattr(client, "hf_hub_download", download)
        listed = {
            name: [entry.name for entry in folder.iterdir()] for name, folder in folders.items()
        }
        monkeypatch.setattr(
            client.HfApi, "list_repo_files", lambda self, name, revision=None: listed[name]
        )
        yield asked
        server.shutdown()
        thread.join()


def test_downloads_take_two_files_of_one_commit(served: list[str], tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert from_pretrained("user/pizza", revision="v1", cache_dir=cache).id == "pizza-p11-k1-3"
    assert {path.split("/resolve/")[1] for path in served} == {
        "v1/config.json",
        f"{COMMIT}/model.safetensors",
    }
    served.clear()
    assert (
        from_pretrained("user/pizza", revision="v1", cache_dir=cache, local_files_only=True).id
        == "pizza-p11-k1-3"
    )
    assert served == []


@pytest.mark.parametrize("address", ["hf://user/pizza@v1", Path("hf://user/pizza@v1")])
def test_an_address_is_loaded(
    served: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str | Path
) -> None:
    client = importlib.import_module("huggingface_hub")
    monkeypatch.setattr(
        client, "hf_hub_download", partial(client.hf_hub_download, cache_dir=tmp_path / "cache")
    )
    assert algophase.load(address).id == "pizza-p11-k1-3"
    assert "pizza-p11-k1-3: two Pizzas" in call("analyze", address).stdout
    with pytest.raises(InputError, match="its modulus is 11, which contradicts --modulus 7"):
        algophase.load(address, modulus=7)
    assert {path.split("/resolve/")[1] for path in served} == {
        "v1/config.json",
        f"{COMMIT}/model.safetensors",
    }


@pytest.mark.parametrize("address", ["hf://", "hf://a/b/c", "hf://user/name@", "hf://../x"])
def test_an_address_of_another_form_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"it must be hf://user/name or hf://user/name@revision"):
        algophase.load(address)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "user/none",
            {},
            "user/none.*private",
        ),
        ("user/pizza", {"revision": "v9"}, "user/pizza has no revision 'v9'"),
        ("user/other", {}, r"config\.json: format is None.*'algophase-network'"),
        (
            "user/pickle",
            {},
            r"model\.safetensors.*config\.json.*pytorch_model\.bin",
        ),
        ("user/pizza", {"local_files_only": True}, "it was not downloaded before"),
    ],
)
def test_downloads_that_fail(
    served: list[str], tmp_path: Path, name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        from_pretrained(name, cache_dir=tmp_path / "cache", **options)
    assert "\n" not in str(caught.value)
    assert not any(path.endswith((".bin", ".safetensors")) for path in served)


@pytest.mark.parametrize(
    ("level", "heard"), [(logging.WARNING, False), (logging.INFO, True), (logging.ERROR, False)]
)
def test_attempts_of_the_client_are_not_listed(
    monkeypatch: pytest.MonkeyPatch, level: int, heard: bool
) -> None:
    client = pytest.importorskip("huggingface_hub")
    seen = []

    def offline(*_: Any, **__: Any) -> str:
        seen.append(logging.getLogger("huggingface_hub.utils._http").isEnabledFor(logging.WARNING))
        raise client.errors.LocalEntryNotFoundError("no connection")

    monkeypatch.setattr(client, "hf_hub_download", offline)
    before = client.logging.get_verbosity()
    client.logging.set_verbosity(level)
    try:
        with pytest.raises(
            InputError, match="it was not downloaded before, and the Hub cannot be reached"
        ):
            from_pretrained("user/name")
        assert (seen, client.logging.get_verbosity()) == ([heard], level)
    finally:
        client.logging.set_verbosity(before)


class FakeApi:
    """The two calls of HfApi that an upload makes; `fails` is raised by the one named."""

    calls: list[tuple[str, dict[str, Any]]]
    fails: dict[str, Exception]

    def __init__(self, **options: Any) -> None:
        self.calls.append(("HfApi", options))

    def create_repo(self, repo_id: str, **options: Any) -> str:
        from huggingface_hub import RepoUrl

        self._call("create_repo", {"repo_id": repo_id, **options})
        return RepoUrl(f"https://huggingface.co/{repo_id if '/' in repo_id else f'me/{repo_id}'}")

    def upload_folder(self, folder_path: str, **options: Any) -> None:
        folder = {entry.name: entry.read_bytes() for entry in Path(folder_path).iterdir()}
        self._call("upload_folder", {"folder": folder, **options})

    def _call(self, name: str, options: dict[str, Any]) -> None:
        self.calls.append((name, options))
        if name in self.fails:
            raise self.fails[name]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> type[FakeApi]:
    client = pytest.importorskip("huggingface_hub")
    fake = type("Api", (FakeApi,), {"calls": [], "fails": {}})
    monkeypatch.setattr(client, "HfApi", fake)
    return fake


def test_push_creates_the_repository_and_uploads_the_folder(
    api: type[FakeApi], tmp_path: Path
) -> None:
    url = push_to_hub(
        handmade_pizza(11, (1, 3)),
        "pizza",
        license="mit",
        private=True,
        token="secret",
        revision="v1",
    )
    assert url == "https://huggingface.co/me/pizza"
    made, created, uploaded = api.calls
    assert made == ("HfApi", {"token": "secret", "library_name": "algophase"})
    assert created == ("create_repo", {"repo_id": "pizza", "private": True, "exist_ok": True})
    assert (uploaded[1]["repo_id"], uploaded[1]["revision"]) == ("me/pizza", "v1")
    assert uploaded[1]["commit_message"] == "Upload pizza-p11-k1-3: Pizza"
    folder = uploaded[1]["folder"]
    assert sorted(folder) == FILES
    assert b'from_pretrained("me/pizza")' in folder["README.md"]
    assert not any(b"secret" in content for content in folder.values())
    for name, content in folder.items():
        (tmp_path / name).write_bytes(content)
    assert from_pretrained(tmp_path).id == "pizza-p11-k1-3"


def _http_error(kind: str, status: int) -> Exception:
    import huggingface_hub

    made: type[Exception] = getattr(huggingface_hub.errors, kind)
    error = made.__new__(made)  # what it takes to make one differs between versions
    Exception.__init__(error, "first line\nsecond line")
    error.response = type("Response", (), {"status_code": status})()  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize(
    ("call", "kind", "status", "message"),
    [
        (
            "create_repo",
            "LocalTokenNotFoundError",
            0,
            "token.*user/name.*hf auth login",
        ),
        (
            "create_repo",
            "HfHubHTTPError",
            401,
            "user/name.*valid token",
        ),
        ("create_repo", "HfHubHTTPError", 403, "a token that may write to user/name is needed"),
        (
            "upload_folder",
            "HfHubHTTPError",
            500,
            "user/name: HfHubHTTPError: first line",
        ),
        (
            "upload_folder",
            "RepositoryNotFoundError",
            404,
            "user/name.*private",
        ),
        ("upload_folder", "GatedRepoError", 403, "user/name is gated"),
    ],
)
def test_pushes_that_fail(
    api: type[FakeApi], call: str, kind: str, status: int, message: str
) -> None:
    api.fails[call] = _http_error(kind, status)
    with pytest.raises(InputError, match=message) as caught:
        push_to_hub(handmade_clock(7, (1,)), "user/name")
    assert "\n" not in str(caught.value)


def test_a_push_without_a_connection(api: type[FakeApi]) -> None:
    api.fails["create_repo"] = ConnectionError("Name or service not known")
    with pytest.raises(
        InputError, match=r"the Hub cannot be reached \(Name or service not known\)"
    ):
        push_to_hub(handmade_clock(7, (1,)), "user/name")


def test_nothing_is_made_on_the_hub_for_bad_input(api: type[FakeApi]) -> None:
    with pytest.raises(InputError, match=r"repo_id is 'a/b/c'.*'name' or 'user/name'"):
        push_to_hub(handmade_clock(7, (1,)), "a/b/c")
    with pytest.raises(InputError, match="license is"):
        push_to_hub(handmade_clock(7, (1,)), "user/name", license="My own")
    assert api.calls == []
