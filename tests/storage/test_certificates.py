"""What a certificate beside a network says stands in its summary, its card and its report."""

from pathlib import Path

from algophase.analysis.analyze import analyze
from algophase.certificates.certify import certify
from algophase.networks.handmade import handmade_pizza
from algophase.reports.make import report
from algophase.storage import load, save

SAYS = "its certificate says: proved right on 49 of 49 pairs"


def test_a_certificate_beside_a_network_is_told(tmp_path: Path) -> None:
    file = save(handmade_pizza(7, (1, 2)), tmp_path / "pizza")
    assert not any("certificate" in note for note in load(file).notes)
    for name in ("certificate.json", "pizza.certificate.json"):
        beside = tmp_path / name
        certify(load(file)).save(beside)
        network = load(file)
        assert any(SAYS in note for note in network.notes)
        analysis = analyze(network)
        assert SAYS in str(analysis)
        assert SAYS in analysis._repr_html_()
        page = tmp_path / "page.html"
        report([file], out=page)
        assert SAYS in page.read_text(encoding="utf-8")
        copied = save(network, tmp_path / "copies" / "pizza", overwrite=True)
        assert not any(SAYS in note for note in load(copied).notes)
        beside.unlink()


def test_a_certificate_that_was_changed_or_is_of_another_is_ignored(tmp_path: Path) -> None:
    file = save(handmade_pizza(7, (1, 2)), tmp_path / "pizza")
    beside = tmp_path / "certificate.json"
    certify(handmade_pizza(7, (1, 3))).save(beside)
    assert not any("certificate" in note for note in load(file).notes)
    text = certify(load(file)).text
    for damaged in (text.replace("49", "48", 1), text[:100], "[]", "{}", "[" * 10_000):
        beside.write_text(damaged)
        assert not any("certificate" in note for note in load(file).notes)
