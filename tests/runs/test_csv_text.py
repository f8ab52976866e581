import csv

from algophase.runs.csv_text import PIECE, csv_pieces, csv_text


def test_cells_are_exact_and_no_spreadsheet_computes_them() -> None:
    columns: dict[str, list[object]] = {
        "a": [0.1 + 0.2, None, True],
        "=b": ["=1+1", "x\ry", (1, 2)],
    }
    lines = list(csv.reader(csv_text(columns, [2, 0, 1]).splitlines()[:3]))
    assert lines == [["a", "'=b"], ["true", "[1, 2]"], ["0.30000000000000004", "'=1+1"]]
    assert csv_text(columns, [1]).endswith(',"x\ny"\n')


def test_pieces_are_the_whole_text() -> None:
    columns = {"a": list(range(2 * PIECE + 5))}
    pieces = list(csv_pieces(columns, range(2 * PIECE + 5)))
    assert len(pieces) == 3
    assert "".join(pieces) == csv_text(columns, range(2 * PIECE + 5))
    assert list(csv_pieces(columns, [])) == ["a\n"]
