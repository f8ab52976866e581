"""The authors' table of training runs, in our column names.

Its `distance_irrelevance` was computed on the largest wrong logit, so here it is
`distance_irrelevance_wrong_logit`: the paper's definition, `distance_irrelevance`, is not in that
table and is never filled from it. Its `gradient_sim` of a network with an equals sign was computed
without giving it one, so there it is `gradient_symmetricity_without_equals_sign`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from algophase.core.errors import InputError
from algophase.storage.files import given_path

if TYPE_CHECKING:
    import pandas

# Theirs to ours. Not here: training_loss and validation_loss, which are rounded to three digits.
_SETTINGS = {
    "C": "modulus",
    "act_fn": "activation",
    "attn_coeff": "attention_rate",
    "d_model": "width",
    "diff_vocab": "separate_vocabularies",
    "eqn_sign": "equals_sign",
    "n_layers": "layers",
}
_OUTCOMES = {
    "gradient_sim": "gradient_symmetricity",
    "circularity": "circularity",
    "distance_irrelevance": "distance_irrelevance_wrong_logit",
    "validation_accuracy": "validation_accuracy",
}
_OPTIONAL = {
    "runid": "run_id",
    "frac": "training_fraction",
    "n_heads": "heads",
    "epoch": "epochs",
    "lr": "learning_rate",
    "weight_decay": "weight_decay",
    "training_accuracy": "training_accuracy",
    "parameter_norm": "parameter_norm",
}
_NUMBERS = {*_SETTINGS, *_OUTCOMES, *_OPTIONAL} - {"act_fn", "runid"}


def read_released_table(path: str | Path) -> "pandas.DataFrame":
    """One row a run, unfinished ones with empty outcomes. Other columns than the known are left
    out; settings may be fewer.
    """
    import pandas

    path = given_path(path)
    if not path.is_file():
        raise InputError(
            f"{path} is not a file; give the authors' released table, 1l_fixedwidth.csv"
        )
    try:
        table = pandas.read_csv(path)
    except (ValueError, OSError) as error:  # pandas' own errors and wrong encodings are ValueErrors
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} is not a readable CSV file ({reason})") from None
    required = {**_SETTINGS, **_OUTCOMES}
    missing = [name for name in required if name not in table]
    if missing:
        raise InputError(
            f"{path} has no column {', '.join(missing)}; the released table has "
            f"{', '.join(required)}"
        )
    names = {name: ours for name, ours in {**required, **_OPTIONAL}.items() if name in table}
    table = table[list(names)].copy()
    for name in sorted(_NUMBERS & set(names)):
        try:
            table[name] = pandas.to_numeric(table[name])
        except (ValueError, TypeError) as error:
            raise InputError(
                f"column {name} of {path} is not all numbers ({str(error).splitlines()[0]})"
            ) from None
    table = table.rename(columns=names)
    for name in ("separate_vocabularies", "equals_sign"):
        table[name] = table[name].astype(bool)
    bare = table["gradient_symmetricity"].where(table["equals_sign"])
    table["gradient_symmetricity_without_equals_sign"] = bare
    table["gradient_symmetricity"] = table["gradient_symmetricity"].mask(table["equals_sign"])
    table["activation"] = table["activation"].astype(str).str.lower()
    table["kind"] = "transformer"
    return table
