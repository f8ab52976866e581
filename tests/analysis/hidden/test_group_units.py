import pytest

from algophase.analysis.analyze import analyze
from algophase.analysis.hidden._geometry import geometry
from algophase.analysis.hidden.group_units import INTERACTIONS, GroupUnits
from algophase.analysis.hidden.look_inside import look_inside
from algophase.analysis.hidden.progress_measures import progress_measures
from algophase.core.errors import InputError
from algophase.core.named_groups import named_group
from algophase.core.settings import RunSettings, TaskSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade_groups import adding_network, multiplying_network


def inside(network: object) -> GroupUnits:
    layer = look_inside(network)  # type: ignore[arg-type]
    assert isinstance(layer, GroupUnits)
    return layer


def test_units_that_add_read_their_representation_alone() -> None:
    group = named_group("S3")
    layer = inside(analyze(adding_network(group, ["standard", "sign"])))
    assert {cluster.representation for cluster in layer.clusters} == {"standard", "sign"}
    assert sum(cluster.units for cluster in layer.clusters) == layer.units - layer.silent
    assert [cluster.share for cluster in layer.clusters] == pytest.approx([1, 1])
    assert layer.interaction == pytest.approx(0, abs=1e-12)
    assert layer.accuracy_without == 1


def test_products_are_all_interaction() -> None:
    layer = inside(multiplying_network(named_group("D5")))
    assert layer.interaction == pytest.approx(1)
    assert layer.accuracy_without < 0.5  # nothing but rounding is left
    assert [cluster.representation for cluster in layer.clusters] == [INTERACTIONS]
    assert "interactions of both operands are 100.00%" in "\n".join(layer.lines())


def test_a_transformer_on_a_group_has_units_too() -> None:
    run = RunSettings(TaskSettings(group="S3"), TransformerSettings(8, attention_rate=1.0))
    layer = inside(initialize(run))
    assert layer.units == 32
    assert 0 < layer.interaction < 1
    assert layer.to_dict()["group_units"]["units"] == 32


def test_a_network_that_does_not_say_what_its_units_read() -> None:
    run = RunSettings(TaskSettings(group="S3"), TransformerSettings(8, layers=2))
    layer = inside(initialize(run))
    assert layer.units == 0
    assert layer.lines()[-1] == "    it is not known what its hidden units read"


def test_what_is_defined_for_waves_alone_is_refused() -> None:
    network = adding_network(named_group("S3"))
    for measure in (geometry, progress_measures):
        with pytest.raises(InputError, match="is on the group S3: this is measured for addition"):
            measure(network)
