"""The corpus of docstrings: its prose, labels, masks and splits."""

import re
import sysconfig

import pytest

from tools.demo.corpus import SampleCorpusOptions
from tools.demo.corpus import write_sample_corpus


@pytest.fixture
def installation(tmp_path, monkeypatch):
    """A Python installation of a standard library and two packages."""
    paths = {"stdlib": str(tmp_path / "lib"), "purelib": str(tmp_path / "site")}
    monkeypatch.setattr(sysconfig, "get_paths", lambda: paths)

    def write(path, texts):
        path.parent.mkdir(parents=True, exist_ok=True)
        functions = [f'def f{i}():\n    """{t}"""\n' for i, t in enumerate(texts)]
        path.write_text("\n".join(functions))

    def texts(kind, verb, module):
        return [
            f"The {kind} number {i} will {verb} what it is given at once. Use it from "
            f"the module {module} or as lion.zebra.f{i} in every program, but once."
            for i in range(40)
        ]

    write(tmp_path / "lib" / "common.py", texts("tool", "copy", "common"))
    write(tmp_path / "site" / "lion" / "zebra.py", texts("animal", "eat", "zebra"))
    for name in ("leaf", "again", "tests/leaf"):
        write(
            tmp_path / "site" / "rose" / f"{name}.py", texts("plant", "drink", "leaf")
        )
    (tmp_path / "site" / "rose" / "broken.py").write_text("def f(:")
    return tmp_path


def table(path):
    header, *rows = path.read_text().splitlines()
    assert header == "label\tsentence"
    return [row.split("\t") for row in rows]


def test_texts_are_distinct_masked_and_apart(installation):
    output = installation / "out"
    for workers, folder in ((1, output), (2, installation / "again")):
        write_sample_corpus(SampleCorpusOptions(str(folder), workers=workers))
    for path in output.iterdir():
        assert path.read_bytes() == (installation / "again" / path.name).read_bytes()
    tables = {name: table(output / f"{name}.tsv") for name in ("train", "dev", "test")}
    rows = [tuple(row) for split in tables.values() for row in split]
    assert len(set(rows)) == len(rows) == 120
    assert min(map(len, tables.values())) > 10
    assert {label for label, _ in rows} == {"stdlib", "lion", "rose"}
    for _, text in rows:
        assert not re.search("zebra|lion|leaf|common", text)
        assert "from the module name or as name in every program" in text
    corpus = (output / "corpus.txt").read_text()
    numbers = {split: re.findall(r"number \d+", str(tables[split])) for split in tables}
    assert corpus.count("number") == len(numbers["train"])
