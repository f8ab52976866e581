"""Shipped sweeps and networks are known by their names, and the wheel has them."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

from algophase import load
from algophase.core import gallery
from algophase.runs.runs import Runs
from algophase.storage.files import shipped
from algophase.storage.runs_table import read_runs

ROOT = Path(__file__).resolve().parents[2]
LARGEST = 70_000_000  # bytes of the gallery in the wheel: gallery/README.md says why


def test_a_sweep_is_known_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(read_runs("wide")) == len(read_runs(ROOT / "gallery" / "wide")) > 0
    assert Runs.read("wide").name == "wide"
    assert shipped("no-such-sweep") == Path("no-such-sweep")
    assert shipped("wide/networks") == Path("wide/networks")
    (tmp_path / "wide").mkdir()
    assert shipped("wide") == Path("wide")  # the user's own goes first


def test_an_installed_package_has_its_own_gallery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gallery, "PACKAGE", tmp_path / "lib" / "site" / "algophase")
    assert gallery.default_gallery() is None
    (gallery.PACKAGE / "gallery" / "wide").mkdir(parents=True)
    (gallery.PACKAGE / "gallery" / "wide" / "sweep.json").write_text("{}")
    assert shipped("wide") == gallery.PACKAGE / "gallery" / "wide"


def test_a_clock_and_a_pizza_are_known_by_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert load("clock").id == "da98a6312948"
    assert load("pizza").id == "5ed1f0b86c80"
    (tmp_path / "clock").mkdir()
    assert gallery.shipped_network(Path("clock")) == Path("clock")  # the user's own goes first
    assert gallery.shipped_network(Path("bagel")) == Path("bagel")


def test_the_wheel_has_tables_and_the_networks_with_a_name() -> None:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    data: dict[str, dict[str, str]] = {"force_include": {}}
    hook = SimpleNamespace(root=str(ROOT), target_name="wheel")
    module.GalleryTables.initialize(hook, "standard", data)
    inside = data["force_include"]
    assert "algophase/gallery/exhibits.toml" in inside.values()
    assert {path.name for path in (ROOT / "gallery").glob("*/sweep.json")} == {"sweep.json"}
    assert all(Path(path).exists() for path in inside)
    networks = [name for name in inside.values() if "networks" in name]
    named = [f"algophase/gallery/{file}" for file in gallery.NETWORKS.values()]
    described = [name.replace(".safetensors", ".json") for name in named]
    assert sorted(networks) == sorted([*named, *described])
    moments = {Path(name).parts[2] for name in inside.values() if name.endswith("moments.parquet")}
    assert moments == {"clock-training", "emergence", "pizza-training"}
    tables = {path.parent.name for path in (ROOT / "gallery").glob("*/sweep.json")}
    assert {Path(name).parts[2] for name in inside.values() if "runs.parquet" in name} == tables
    assert sum(Path(path).stat().st_size for path in inside) < LARGEST
    data["force_include"].clear()
    module.GalleryTables.initialize(hook, "editable", data)
    assert not inside
