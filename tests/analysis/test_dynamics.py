from algophase.analysis.analyze import analyze
from algophase.analysis.dynamics import dynamics
from algophase.core.settings import RunSettings, TaskSettings, TrainingSettings, TransformerSettings
from algophase.networks import initialize
from algophase.networks.handmade import handmade_pizza
from algophase.training.run.train import train


def test_networks_are_analyzed_in_the_order_of_their_epochs() -> None:
    pizza = handmade_pizza(11, (1, 3))
    start = initialize(RunSettings(TaskSettings(modulus=11), TransformerSettings(width=8)))
    moments = dynamics({300: pizza, 20: start})
    assert [moment.epoch for moment in moments] == [20, 300]
    assert [moment.analysis.verdict.label for moment in moments] == ["not learned", "Pizza"]
    record = moments[1].to_dict()
    assert record["epoch"] == 300
    assert record["verdict"] == "Pizza"


def test_a_trained_run_has_its_dynamics_in_its_snapshots() -> None:
    run = RunSettings(
        TaskSettings(modulus=7), TransformerSettings(width=8), TrainingSettings(epochs=12)
    )
    (trained,) = train([run], device="cpu", snapshot_epochs=(0, 5, 12))
    moments = dynamics(trained.snapshots)
    assert [moment.epoch for moment in moments] == [0, 5, 12]
    assert moments[0].analysis.cross_entropy == analyze(initialize(run)).cross_entropy
    assert trained.network is not None
    assert moments[2].analysis.cross_entropy == analyze(trained.network).cross_entropy
    assert dynamics({}) == []
