"""Docstrings of the package begin with the thing they describe, or with a verb."""

import ast
import re

_QUESTION = r"\s*(What|Whether|How|Where|Which|Who|When)\b"


def _questions(tree):
    """Lists the lines of docstrings, those of fields too, that open as a question."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                if re.match(_QUESTION, text):
                    yield node.lineno


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
        if re.search(f'"""{_QUESTION}', text)
        and (lines := [*_questions(ast.parse(text))])
    }
    assert len(texts) > 500
    assert not found
