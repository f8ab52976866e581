"""How a module from elsewhere is likely to be given pairs: where its embedding is, how it writes
tokens, and its modulus.
"""

import inspect
from collections.abc import Sequence

from torch import nn

from algophase.core.errors import InputError
from algophase.networks._cuts import FirstLayer, Lookup, Rows


def _tables(module: nn.Module) -> dict[str, int]:
    """What could be the embedding, by its name, and how many rows it has."""
    rows = {}
    for name, part in module.named_modules():
        if isinstance(part, nn.Embedding):
            rows[name] = part.num_embeddings
    for name, parameter in module.named_parameters():
        if name.rpartition(".")[2] == "W_E":
            rows[name] = parameter.shape[0]
    return rows


def _first_layer(module: nn.Module) -> tuple[str, int] | None:
    """The first linear layer and how many numbers it reads."""
    for name, part in module.named_modules():
        if isinstance(part, nn.Linear):
            return name, part.in_features
    return None


def described_tables(module: object) -> str:
    """tok has 37 rows and places has 3 rows; or what the first layer reads. "" where there is
    nothing to see.
    """
    if not isinstance(module, nn.Module):
        return ""
    tables = _tables(module)
    if tables:
        return " and ".join(f"{name} has {rows} rows" for name, rows in tables.items())
    layer = _first_layer(module)
    return "" if layer is None else f"{layer[0]} reads {layer[1]} numbers"


def likely_moduli(module: object, outputs: int | None = None) -> list[int]:
    """Moduli that would go with a module's tables and its number of logits, the likeliest first.

    A table has a row for each number, some also for an equals sign and a plus, or twice as many for
    two vocabularies.
    """
    likely: list[int] = []
    if outputs is not None:
        likely += [outputs, outputs - 1]
    if isinstance(module, nn.Module):
        layer = _first_layer(module)
        for rows in sorted(_tables(module).values(), reverse=True):
            likely += [rows, rows - 1, rows - 2, rows // 2]
        if layer is not None and not _tables(module):
            likely += [layer[1] // 2, layer[1]]
    return [modulus for modulus in dict.fromkeys(likely) if modulus >= 2]


def find_embedding(module: nn.Module, modulus: int) -> list[str]:
    """The embedding, where there is just one choice."""
    lookups, layers = [], []
    for name, part in module.named_modules():
        is_large = isinstance(part, nn.Embedding) and part.num_embeddings >= modulus
        if is_large or "W_E" in dict(part.named_parameters(recurse=False)):
            lookups.append(name)
        if isinstance(part, nn.Linear) and part.in_features in (modulus, 2 * modulus):
            layers.append(name)
    if lookups and len(lookups) <= 2:
        return lookups if lookups != [""] else ["W_E"]
    if layers and not lookups:
        return layers[:1]
    if lookups:
        raise InputError(
            f"module {type(module).__name__} has several embeddings; name the embedding, one of "
            f"{', '.join(lookups)}"
        )
    tables = [
        name
        for name, parameter in module.named_parameters()
        if parameter.dim() == 2 and max(parameter.shape) >= modulus
    ]
    sizes = described_tables(module)
    lacking = f"no embedding of {modulus} or more rows ({sizes})" if sizes else "no nn.Embedding"
    raise InputError(
        f"module {type(module).__name__} has {lacking}; name the embedding, one of "
        f"{', '.join(tables) or 'its modules'}"
    )


def cuts_at(
    module: nn.Module, names: Sequence[str], modulus: int
) -> list[Lookup | Rows | FirstLayer]:
    modules = dict(module.named_modules())
    parameters = dict(module.named_parameters())
    for name in names:
        if name not in modules and name not in parameters:
            choices = [choice for choice in (*modules, *parameters) if choice]
            raise InputError(
                f"embedding is {name!r}; module {type(module).__name__} has "
                f"{', '.join(choices[:40])}"
            )
    if not 1 <= len(names) <= 2:
        raise InputError(f"embedding names {len(names)} modules; give one, or one for each operand")
    first_layer = [FirstLayer(names[0])] if len(names) == 1 else []
    if all(name in modules for name in names):
        if first_layer and isinstance(modules[names[0]], nn.Linear):
            return [*first_layer]
        return [Lookup(names), *first_layer]
    tables = [parameters[name] for name in names if name in parameters]
    fewest = [min(table.shape[axis] for table in tables) for axis in (0, 1)]
    rows = [Rows(names, axis) for axis, size in enumerate(fewest) if size >= modulus]
    return [*rows, *first_layer]


def templates(module: nn.Module, names: Sequence[str], p: int) -> list[str]:
    """How pairs may be written for a module with these tables, the likeliest first."""
    first = dict(module.named_modules()).get(names[0])
    rows = first.num_embeddings if isinstance(first, nn.Embedding) else None
    if rows is None and first is not None and not isinstance(first, nn.Linear):
        rows = getattr(getattr(first, "W_E", None), "shape", (None,))[0]
    if isinstance(first, nn.Linear):
        return ["one-hot" if first.in_features == 2 * p else "one-hot sum", "a b", "a, b"]
    operands_alone = ["a, b", "a b"] if len(_positional(module)) > 1 else ["a b", "a, b"]
    if rows == p:
        return operands_alone
    if len(names) == 2 or rows is None:
        return [*operands_alone, "a b ="]
    by_rows = {
        p + 1: ["a b =", *operands_alone],
        p + 2: ["a + b =", *operands_alone],
        2 * p: [f"a b+{p}", *operands_alone],
        2 * p + 1: [f"a b+{p} {2 * p}"],
    }
    return by_rows.get(rows, [*operands_alone, "a b ="])


def _positional(module: nn.Module) -> list[str]:
    """Arguments that the module must be given."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(module.forward).parameters.values()
    return [
        parameter.name
        for parameter in parameters
        if parameter.kind in kinds and parameter.default is inspect.Parameter.empty
    ]
