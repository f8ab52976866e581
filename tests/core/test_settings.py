import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algophase.core.errors import InputError
from algophase.core.settings import (
    ClockSettings,
    LinearSettings,
    RunSettings,
    TaskSettings,
    TrainingSettings,
    TransformerSettings,
)

tasks = st.builds(
    TaskSettings,
    modulus=st.integers(2, 200),
    separate_vocabularies=st.booleans(),
    equals_sign=st.booleans(),
    training_fraction=st.floats(0.3, 1.0),
)
transformers = st.builds(
    TransformerSettings,
    width=st.integers(8, 512),
    layers=st.integers(1, 5),
    heads=st.integers(1, 8),
    activation=st.sampled_from(["relu", "gelu"]),
    attention_rate=st.floats(0, 1),
)
trainings = st.builds(
    TrainingSettings,
    epochs=st.integers(0, 10**6),
    learning_rate=st.floats(1e-6, 1),
    weight_decay=st.floats(0, 10),
)
runs = st.builds(
    RunSettings, task=tasks, network=transformers, training=trainings, seed=st.integers(0, 2**63)
)


@given(runs)
def test_json_round_trip_keeps_the_run_and_its_id(run: RunSettings) -> None:
    again = RunSettings.from_json(run.to_json())
    assert again == run
    assert again.run_id == run.run_id


def test_run_ids_are_pinned() -> None:
    """Ids are stored in tables and file names: these must never change."""
    assert RunSettings().run_id == "eca5451b013c"
    linear = RunSettings(
        task=TaskSettings(modulus=113), network=LinearSettings(model="delta"), seed=7
    )
    assert linear.run_id == "a46a03315417"


def test_a_run_id_does_not_depend_on_how_a_number_was_written() -> None:
    assert RunSettings(network=TransformerSettings(attention_rate=1)).run_id == RunSettings().run_id


def test_a_run_id_depends_on_every_setting() -> None:
    base = RunSettings()
    others = [
        RunSettings(seed=1),
        RunSettings(task=TaskSettings(modulus=61)),
        RunSettings(task=TaskSettings(equals_sign=True)),
        RunSettings(network=TransformerSettings(attention_rate=0.5)),
        RunSettings(network=TransformerSettings(layers=2)),
        RunSettings(network=LinearSettings()),
        RunSettings(training=TrainingSettings(weight_decay=1)),
    ]
    ids = [base.run_id, *(run.run_id for run in others)]
    assert len(set(ids)) == len(ids)


def test_default_training_is_the_published_recipe_of_the_kind() -> None:
    assert RunSettings().training == TrainingSettings(beta2=0.98, warmup_steps=10)
    assert RunSettings(network=LinearSettings()).training == LinearSettings().published_training()
    assert RunSettings(network=LinearSettings()).training.beta2 == 0.999
    assert RunSettings(network=LinearSettings()).training.warmup_steps == 0


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (TaskSettings, {"modulus": 1}, "modulus is 1; it must be an integer of at least 2"),
        (TaskSettings, {"modulus": 59.0}, "modulus is 59.0"),
        (TaskSettings, {"modulus": True}, "modulus is True"),
        (
            RunSettings,
            {"task": TaskSettings(training_fraction=None)},
            "training_fraction is not known; give the share",
        ),
        (
            TaskSettings,
            {"training_fraction": 0},
            r"training_fraction is 0; it must be a number in \(0, 1\]",
        ),
        (TaskSettings, {"training_fraction": 0.1, "modulus": 3}, "leaves no training pair"),
        (TaskSettings, {"equals_sign": 1}, "equals_sign is 1; it must be true or false"),
        (
            TransformerSettings,
            {"attention_rate": 1.5},
            r"attention_rate is 1.5; it must be a number in \[0, 1\]",
        ),
        (TransformerSettings, {"attention_rate": float("nan")}, "attention_rate is nan"),
        (TransformerSettings, {"attention_rate": "1"}, "attention_rate is '1'"),
        (
            TransformerSettings,
            {"activation": "tanh"},
            "activation is 'tanh'; choose one of relu, gelu",
        ),
        (TransformerSettings, {"width": 3}, "width is 3; it must be an integer of at least 4"),
        (
            LinearSettings,
            {"model": "epsilon"},
            "choose one of alpha, beta, gamma, delta, alpha-prime",
        ),
        (LinearSettings, {"model": "delta", "width": 255}, "it must be even"),
        (ClockSettings, {"frequencies": []}, "frequencies is empty"),
        (ClockSettings, {"frequencies": 3}, "must be a list of integers"),
        (ClockSettings, {"frequencies": [0]}, "frequency is 0"),
        (TrainingSettings, {"learning_rate": 0}, "learning_rate is 0"),
        (TrainingSettings, {"epochs": -1}, "epochs is -1"),
        (TrainingSettings, {"weight_decay": float("inf")}, "weight_decay is inf"),
        (TrainingSettings, {"beta1": 1}, r"beta1 is 1; it must be a number in \[0, 1\)"),
        (TrainingSettings, {"beta2": 1.0}, r"beta2 is 1.0; it must be a number in \[0, 1\)"),
        (RunSettings, {"seed": -1}, "seed is -1"),
        (
            RunSettings,
            {"task": TransformerSettings()},
            r"task is TransformerSettings\(.*; it must be TaskSettings",
        ),
        (
            RunSettings,
            {"network": None},
            "network is None; it must be TransformerSettings or LinearSettings or ClockSettings",
        ),
        (RunSettings, {"training": 3}, "training is 3; it must be TrainingSettings"),
        (
            TaskSettings,
            {"modulus": 10**400},
            r"modulus is 1000\S*\.\.\.; it must be an integer from 2 to 1,048,576$",
        ),
        (
            TransformerSettings,
            {"width": 2**40},
            "width is 1099511627776; it must be an integer from 4 to 1,048,576",
        ),
        (
            TrainingSettings,
            {"epochs": 10**30},
            "it must be an integer from 0 to 9,007,199,254,740,992",
        ),
        (
            TrainingSettings,
            {"learning_rate": 10**400},
            r"learning_rate is 1000\S*\.\.\.; it must be a number in \(0, inf\)",
        ),
    ],
)
def test_bad_values_are_named_with_the_choices(
    kind: Any, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        kind(**values)


def test_unknown_settings_stop_the_load() -> None:
    with pytest.raises(InputError, match=r"no setting dropout; choose from width, layers"):
        RunSettings.from_dict({"network": {"kind": "transformer", "dropout": 0.1}})
    with pytest.raises(
        InputError, match="network kind is 'mamba'; choose one of transformer, linear, clock"
    ):
        RunSettings.from_dict({"network": {"kind": "mamba"}})
    with pytest.raises(InputError, match="not valid JSON"):
        RunSettings.from_json("{")


@pytest.mark.parametrize(
    "data",
    ["abc", 3, None, ["task"], {"task": None}, {"network": None}, {"network": {"kind": ["x"]}}],
)
def test_run_settings_that_are_no_object_are_refused(data: Any) -> None:
    with pytest.raises(InputError):
        RunSettings.from_dict(data)


def test_a_number_too_long_to_read_is_not_valid_json() -> None:
    with pytest.raises(InputError, match="run settings are not valid JSON"):
        RunSettings.from_json('{"seed": ' + "1" * 5000 + "}")


def test_linear_models_take_two_tokens_only() -> None:
    with pytest.raises(InputError, match=r"a linear network reads the tokens a b"):
        RunSettings(task=TaskSettings(equals_sign=True), network=LinearSettings())


def test_settings_are_frozen() -> None:
    with pytest.raises(AttributeError):
        RunSettings().seed = 3  # type: ignore[misc]


def test_json_holds_plain_values() -> None:
    data = json.loads(RunSettings().to_json())
    assert data["network"]["kind"] == "transformer"
    assert data["task"]["modulus"] == 59
