"""The tool that breaks lines: each of its mutations still fits the code."""

import pytest

from albert_tf.errors import UserError
from tools import mutate

_MUTATION = mutate.Mutation("n", "f.py", "return a", "return b", "tests")


def test_every_mutation_fits_the_code(project):
    mutations = mutate.read_mutations(project / "tools" / "mutations.json")
    assert len(mutations) >= 60
    for mutation in mutations:
        text = (project / mutation.file).read_text()
        assert mutate.mutated(text, mutation) not in (None, text), mutation.name
        for test in mutation.tests.split():
            assert (project / test).exists(), mutation.name


def test_a_line_is_broken_where_it_stands_once():
    text = "def f(a, b):\n    return a\n"
    assert mutate.mutated(text, _MUTATION) == "def f(a, b):\n    return b\n"
    assert mutate.mutated(text + text, _MUTATION) is None
    assert mutate.mutated("return c\n", _MUTATION) is None


def test_a_file_of_something_else_is_one_sentence(tmp_path):
    path = tmp_path / "mutations.json"
    path.write_text('{"a": {"file": "b"}}')
    with pytest.raises(UserError, match="mutations.json holds an entry that is no mu"):
        mutate.read_mutations(path)


def test_what_becomes_of_mutations(tmp_path, monkeypatch, capsys):
    outcomes = {"seen": "noticed", "unseen": "survived"}
    monkeypatch.setattr(mutate, "_try", lambda copies, m: outcomes[m.name])
    path = tmp_path / "m.json"
    entry = '{"file": "a", "line": "b", "becomes": "c", "tests": "d"}'
    path.write_text(f'{{"seen": {entry}, "unseen": {entry}}}')
    with pytest.raises(SystemExit) as error:
        mutate.mutate(mutate.MutateOptions(mutations=str(path)))
    assert error.value.code == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed == ["survived: unseen (a: c)", "1 of 2 mutations noticed"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("assert False", "noticed"),
        ("pass", "survived"),
        ("import time; time.sleep(60)", "no test failed in 2 s"),
        (None, "no test ran"),
    ],
)
def test_what_tests_say(tmp_path, monkeypatch, test, outcome):
    monkeypatch.setattr(mutate, "_SECONDS", 2 if "no test failed" in outcome else 60)
    text = "" if test is None else f"def test_it():\n    {test}\n"
    (tmp_path / "test_it.py").write_text(text)
    assert mutate._outcome(tmp_path, "test_it.py") == outcome
