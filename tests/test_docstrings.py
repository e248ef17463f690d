"""Docstrings of the package begin with the thing they describe, or with a verb."""

import ast
import re

_QUESTION = r"\s*(What|Whether|How|Where|Which|Who|When)\b"


def _strings(tree):
    """Yields the docstrings of a module's parts, and the strings below its fields."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text


def _questions(tree):
    """Lists the lines of the strings that open as a question does."""
    return [line for line, text in _strings(tree) if re.match(_QUESTION, text)]


def test_no_docstring_opens_with_a_question(pytestconfig):
    root = pytestconfig.rootpath
    texts = {
        str(path.relative_to(root)): path.read_text(encoding="utf-8")
        for room in ("albert_tf", "data_pipeline", "benchmarks", "tools", "tests")
        for path in sorted((root / room).rglob("*.py"))
    }
    # To parse all files takes a second; few have such a text anywhere.
    found = {
        name: lines
        for name, text in texts.items()
        if re.search(f'"""{_QUESTION}', text) and (lines := _questions(ast.parse(text)))
    }
    assert len(texts) > 500
    assert not found


def test_questions_are_found_in_every_place():
    source = '''"""What a module is."""
class A:
    """A class."""

    size = 1
    """How large it is."""

    def is_full(self):
        """Whether it is full."""

    def whatever(self):
        """Whatever it is, this is no question."""
'''
    assert sorted(_questions(ast.parse(source))) == [1, 6, 9]
