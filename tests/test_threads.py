import os
import subprocess
import sys

import pytest

VARIABLES = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
SAY = f"import algophase, os, sys; print([os.environ.get(name) for name in {VARIABLES}], 'torch' in sys.modules)"


@pytest.mark.parametrize(
    ("set_by_the_user", "expected"),
    [
        ({}, ["PASSIVE", None, None]),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, ["ACTIVE", None, None]),
        ({"GOMP_SPINCOUNT": "100"}, [None, "100", None]),
    ],
)
def test_openmp_waits_without_spinning_unless_the_user_chose(
    set_by_the_user: dict[str, str], expected: list[str | None]
) -> None:
    """And importing the package does not load torch."""
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES} | set_by_the_user
    said = subprocess.run([sys.executable, "-c", SAY], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == f"{expected} False"
