"""The corpus of docstrings: its prose, labels, masks and splits."""

import re
import sysconfig

from tools.demo.corpus import SampleCorpusOptions
from tools.demo.corpus import write_sample_corpus


def test_texts_are_distinct_masked_and_apart(tmp_path, monkeypatch):
    paths = {"stdlib": str(tmp_path / "lib"), "purelib": str(tmp_path / "site")}
    monkeypatch.setattr(sysconfig, "get_paths", lambda: paths)

    def write(path, kind, verb, module):
        texts = (
            f"The {kind} number {i} will {verb} what it is given at once. Use it from "
            f"the module {module} or as lion.zebra.f{i} in every program, but once."
            for i in range(40)
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        functions = [f'def f{i}():\n    """{t}"""\n' for i, t in enumerate(texts)]
        path.write_text("\n".join(functions))

    site = tmp_path / "site"
    write(tmp_path / "lib" / "common.py", "tool", "copy", "common")
    write(site / "lion" / "zebra.py", "animal", "eat", "zebra")
    for name in ("leaf", "again", "tests/leaf"):
        write(site / "rose" / f"{name}.py", "plant", "drink", "leaf")
    (site / "rose" / "broken.py").write_text("def f(:")

    output, again = tmp_path / "out", tmp_path / "again"
    for workers, folder in ((1, output), (2, again)):
        write_sample_corpus(SampleCorpusOptions(str(folder), workers=workers))
    for path in output.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()
    tables = {}
    for name in ("train", "dev", "test"):
        header, *lines = (output / f"{name}.tsv").read_text().splitlines()
        assert header == "label\tsentence"
        tables[name] = [tuple(line.split("\t")) for line in lines]
    rows = [row for table in tables.values() for row in table]
    assert len(set(rows)) == len(rows) == 120
    assert min(map(len, tables.values())) > 10
    assert {label for label, _ in rows} == {"stdlib", "lion", "rose"}
    for _, text in rows:
        assert not re.search("zebra|lion|leaf|common", text)
        assert "from the module name or as name in every program" in text
    corpus = (output / "corpus.txt").read_text()
    assert corpus.count("number") == str(tables["train"]).count("number")
