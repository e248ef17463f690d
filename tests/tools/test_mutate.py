"""The tool that breaks the code: each of its mutations still fits."""

import ast

import pytest

from tools import mutate
from tools.drawn_mutations import DrawnMutation
from tools.drawn_mutations import draw_mutations

_OF_EVERY_MODULE = "tests/test_architecture.py::test_dataclasses_are_frozen"


@pytest.mark.slow
def test_every_mutation_fits_the_code(project):
    mutations = mutate.read_mutations(project / "tools" / "mutations.json")
    assert len(mutations) >= 60
    files = {mutation.file for mutation in mutations}
    texts = {file: (project / file).read_text() for file in files}
    plain = {file: ast.unparse(ast.parse(text)) for file, text in texts.items()}
    for mutation in mutations:
        text, unbroken = texts[mutation.file], plain[mutation.file]
        assert mutate.mutated(text, mutation) not in (None, unbroken), mutation.name
        for test in mutation.tests.split():
            assert (project / test.partition("::")[0]).exists(), mutation.name


def test_drawn_mutations_are_of_the_seed_and_break_one_place(project):
    drawn = draw_mutations(project, 5, seed=1, only="optimizers")
    assert drawn == draw_mutations(project, 5, seed=1, only="optimizers")
    assert drawn != draw_mutations(project, 5, seed=2, only="optimizers")
    for mutation in drawn:
        text = (project / mutation.file).read_text()
        broken_lines = set(mutation.apply(text).splitlines()) - set(text.splitlines())
        assert len(broken_lines) == 1, mutation.becomes
        tests = mutation.tests.split()
        assert {"tests/optimizers", _OF_EVERY_MODULE} <= {*tests}
        assert all((project / test.partition("::")[0]).exists() for test in tests)
    (of_a_folder,) = draw_mutations(project, 1, seed=1, only="token_files/__init__")
    assert "tests/serving/test_token_files.py" in of_a_folder.tests.split()


def test_what_a_drawn_mutation_breaks_elsewhere_is_looked_for_next(
    tmp_path, monkeypatch
):
    path, given, outcomes = tmp_path / "a.py", [], []
    path.write_text("1\n")

    def outcome(copy, tests):
        given.append((tests, path.read_text()))
        return outcomes.pop(0)

    monkeypatch.setattr(mutate, "_outcome", outcome)
    copies = mutate._Copies(0)
    mutation = DrawnMutation("a.py", "- 1 + 2", "tests/test_a.py", "2\n")
    both = [(tests, "2\n") for tests in mutation.rounds]
    for told, found, rounds in (
        (["noticed"], "noticed", both[:1]),
        (["survived", "noticed"], "noticed", both),
        (["survived", "survived"], "survived", both),
    ):
        outcomes += told
        copies.give_back(tmp_path)
        assert mutate._try(copies, mutation) == found
        assert (given, path.read_text()) == (rounds, "1\n")
        given.clear()
