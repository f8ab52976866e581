import pytest
from commands import python

from algophase.cli import completion
from algophase.core.gallery import shipped_sweeps
from algophase.sweeps.shipped_spaces import SPACES

CODE = (
    "import sys\nfrom algophase.cli import main\nsys.argv[0] = 'algophase'\n"
    "try:\n    main()\nfinally:\n    assert not {'torch', 'pandas'} & set(sys.modules), 'slow'"
)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("algophase ana", ["analyze"]),
        ("algophase runs fix", ["fixed-width"]),
        ("algophase sweep mod", ["moduli"]),
        ("algophase analyze cl", ["clock"]),
        ("algophase report pi", ["pizza", "pizza-training"]),
        ("algophase train --device cu", ["cuda"]),
        ("algophase analyze --figure-format s", ["svg"]),
        ("algophase runs my-folder/", []),  # the shell offers files
    ],
)
def test_the_shell_is_offered_names(typed: str, offered: list[str]) -> None:
    words = {
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
        "_ALGOPHASE_COMPLETE": "complete_bash",
    }
    done = python("-c", CODE, **words)
    assert "slow" not in done.stderr
    assert done.stdout.split() == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell: str) -> None:
    done = python("-c", CODE, _ALGOPHASE_COMPLETE=f"source_{shell}")
    assert f"_ALGOPHASE_COMPLETE=complete_{shell}" in done.stdout


def test_every_name_is_offered() -> None:
    assert completion.sweeps("") == shipped_sweeps()
    assert completion.spaces("") == list(SPACES)
    assert completion.engines("") == ["auto", "plain", "stacked", "grid", "fused"]
    assert completion.precisions("h") == ["half"]
