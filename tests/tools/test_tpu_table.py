"""The table of compiled steps: steps compiled together, and steps left to do."""

import dataclasses
import json

import pytest

from albert_tf.errors import UserError
from tools.tpu import table
from tools.tpu.compiler import TpuProgram


@pytest.fixture
def compiled(monkeypatch):
    """Records what the compiler is asked for, in place of compiling."""
    calls = []

    def step_compiler(check):
        calls.append(dataclasses.replace(check, topology=""))

        def compile_batch(batch_size, topology):
            calls.append((batch_size, topology))
            return TpuProgram(3 * 10**9, 10**9, 2 * 10**9, 1.0)

        return compile_batch

    monkeypatch.setattr(table, "step_compiler", step_compiler)
    return calls


def test_a_program_is_traced_once_for_the_chips_that_are_missing(compiled, tmp_path):
    cache, program = tmp_path / "cells.json", "base/512/16/bfloat16/loop, quick"
    done = "base/512/16/v5e/bfloat16/loop, quick"
    cache.write_text(json.dumps({done: {}}))
    options = table.TableOptions(cache=str(cache), program=program, quick=True)
    table.make_table(options)
    traced, *cells = compiled
    assert traced.quick
    assert traced.depth_loop and not traced.rematerialize
    assert traced.albert_config_file.endswith("base_v2.json")
    assert cells == [(16, "v6e:2x2"), (16, "v4:2x2x1")]
    assert json.loads(cache.read_text()).keys() == {
        done,
        done.replace("v5e", "v6e"),
        done.replace("v5e", "v4"),
    }
    with pytest.raises(UserError, match="no cell of it is missing"):
        table.make_table(options)


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
