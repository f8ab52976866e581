import csv

import pandas

from algophase.runs.csv_text import PIECE, csv_pieces, csv_text


def test_cells_are_exact_and_no_spreadsheet_computes_them() -> None:
    columns = {"a": [True, 0.1 + 0.2, None], "=b": [(1, 2), "=1+1", "x\ry"]}
    table = pandas.DataFrame(columns, dtype=object)
    lines = list(csv.reader(csv_text(table).splitlines()[:3]))
    assert lines == [["a", "'=b"], ["true", "[1, 2]"], ["0.30000000000000004", "'=1+1"]]
    assert csv_text(table).endswith('\n,"x\ny"\n')


def test_pieces_are_the_whole_text() -> None:
    table = pandas.DataFrame({"a": range(2 * PIECE + 5)})
    pieces = list(csv_pieces(table))
    assert len(pieces) == 4  # and an empty one at the end
    assert "".join(pieces) == csv_text(table)
    assert "".join(pieces).splitlines() == ["a", *map(str, range(2 * PIECE + 5))]
    assert list(csv_pieces(table.iloc[:0])) == ["a\n"]
