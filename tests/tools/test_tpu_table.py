"""The table of compiled steps in its page."""

import json

from tools.tpu import table


def test_the_document_shows_what_there_is(tmp_path):
    cache, document = tmp_path / "cells.json", tmp_path / "tpu.md"
    fits = {"used_bytes": 3e9, "temporary_bytes": 2e9, "available_bytes": None}
    large = {"used_bytes": 20e9, "temporary_bytes": None, "available_bytes": 16e9}
    cells = {
        "base/512/16/v5e/bfloat16/unrolled": fits,
        "base/512/16/v5e/bfloat16/unrolled, quick": large,
        "base/512/16/v5e/bfloat16/loop, quick": large,
        "base/512/16/v5e/bfloat16/unrolled, rematerialised, quick": fits,
        "large/512/16/v5e/float32/unrolled": fits,
        "large/128/64/v5e/bfloat16/unrolled": fits,
    }
    cache.write_text(json.dumps(cells))
    document.write_text("a\n<!-- table -->\nold\n<!-- end of table -->\nb\n")
    table.make_table(
        table.TableOptions(cache=str(cache), document=str(document), compile=False)
    )
    lines = document.read_text().splitlines()
    assert [lines[0], lines[-1]] == ["a", "b"]
    (row,) = [line for line in lines if line.startswith(("| base", "| large"))]
    assert row == (
        "| base | 16 | 3.0 (2.00) | ≈ does not fit (20.0) "
        "| ≈ 3.0 (2.00) | not compiled |"
    )
    assert "old" not in lines
