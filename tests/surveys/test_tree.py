"""Which files a survey takes, and the numbers in their paths."""

from pathlib import Path

import pytest

from algophase.core.errors import InputError
from algophase.surveys.tree import PathRule, check_fits, find_files, settings_in_path


@pytest.mark.parametrize(
    ("rule", "path", "value"),
    [
        ("attention_rate=model_B_{}", "runs/model_B_0.690000.pt", 0.69),
        ("attention_rate=model_B_{}", "runs/model_A_0.5.pt", None),
        ("seed=seed{}", "S5_MLP_seed10.pt", 10),
        ("seed=seed{}/", "width64/seed3/final.pt", 3),
        ("weight_decay=wd{}_*seed", "wd1e-2_lr3_seed7.pt", 0.01),
        ("width=*/d{}", "a/d128/model.pt", 128),
        ("shift=s{}", "s-2.pt", -2),
    ],
)
def test_a_number_in_a_path(rule: str, path: str, value: float | None) -> None:
    assert PathRule.parse(rule).value(Path(path)) == value


@pytest.mark.parametrize("text", ["seed", "seed=abc", "seed={}{}", "Se ed=x{}", "=x{}"])
def test_a_rule_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match="write NAME=PATTERN"):
        PathRule.parse(text)


def test_the_first_rule_that_fits() -> None:
    rules = [PathRule.parse("seed=run{}"), PathRule.parse("seed=seed{}")]
    assert settings_in_path(Path("seed4.pt"), rules) == {"seed": 4}
    assert settings_in_path(Path("run5-seed4.pt"), rules) == {"seed": 5}


def test_a_rule_that_fits_no_path() -> None:
    rules = [PathRule.parse("seed=seed{}"), PathRule.parse("attention_rate=model_C_{}")]
    files = [Path("all/seed3/model_B_0.5.pt"), Path("all/x.pt")]
    check_fits(rules[:1], files)
    with pytest.raises(InputError, match=r"attention_rate=model_C_{} fits none of 2 paths, such"):
        check_fits(rules, files)


def test_files_in_folders_each_once(tmp_path: Path) -> None:
    for name in ("a/x.pt", "a/b/y.pth", ".hidden/z.pt", "a/.z.pt", "a/x.json", "a/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "a" / "loop").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "same.pt").symlink_to(tmp_path / "a" / "x.pt")
    tree = find_files([tmp_path, tmp_path / "a", tmp_path / "a" / "x.pt"])
    assert len(tree.files) == 2
    assert dict(tree.others) == {".txt": 1}


def test_a_file_is_found_before_a_link_to_it(tmp_path: Path) -> None:
    """Its config lies beside the file, not beside the link."""
    (tmp_path / "a").mkdir()
    (tmp_path / "z").mkdir()
    (tmp_path / "z" / "model_x.pt").write_text("")
    (tmp_path / "a" / "link.pt").symlink_to(tmp_path / "z" / "model_x.pt")
    assert find_files([tmp_path]).files == [tmp_path / "z" / "model_x.pt"]
