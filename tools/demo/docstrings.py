"""English prose from the docstrings of Python source files."""

import ast
import collections
import inspect
import re
import warnings

# Folders whose docstrings are tests of something else, or copies of packages.
_SKIPPED_FOLDERS = {
    "__pycache__",
    "_vendor",
    "idlelib",
    "lib2to3",
    "site-packages",
    "test",
    "testing",
    "tests",
}
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_ROLE = re.compile(r"(?<![a-z:])([a-z]*):[a-z:]+:`([^`]*)`")
_RULE = re.compile(r"^[\W_]{3,}$")
_NEW_BLOCK = re.compile(
    r"^([*+-]|\d+[.)]|\.\.|:\w+|\*{0,2}\w+ ?(\([^)]*\))?:)( |$)|^@\w+"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(]*[A-Z])")
_WORD = re.compile(r"[A-Za-z]{2,}")


Docstring = collections.namedtuple("Docstring", "package sentences")
"""A docstring as prose: its top-level package, or "stdlib", and its sentences."""


def source_files(root):
    """Returns the Python files below `root`, except tests, in a fixed order."""
    files = []
    for path in sorted(root.rglob("*.py")):
        folders = path.relative_to(root).parts[:-1]
        if not _SKIPPED_FOLDERS.intersection(folders):
            files.append(path)
    return files


def read_docstrings(path, package):
    """Returns every docstring of a source file; none if it does not parse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in other people's code
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            return []
    docstrings = []
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED):
            text = ast.get_docstring(node, clean=False)
            if text:
                docstrings.append(Docstring(package, tuple(prose(text))))
    return docstrings


def prose(docstring):
    """Returns the sentences of a docstring: no code, markup or ruled headings."""
    sentences = []
    for block in _blocks(inspect.cleandoc(docstring)):
        block = _ROLE.sub(r"\1\2", block).replace("`", "")
        for sentence in _SENTENCE_END.split(" ".join(block.split())):
            if len(_WORD.findall(sentence)) >= 2:
                sentences.append(sentence.strip())
    return sentences


def _blocks(text):
    """Yields paragraphs and list items as single strings."""
    block = []
    for line in (*_without_code(text.splitlines()), ""):
        stripped = line.strip()
        separates = not stripped or _RULE.match(stripped)
        if block and (separates or _NEW_BLOCK.match(stripped)):
            yield " ".join(block)
            block = []
        if not separates:
            block.append(stripped)


def _without_code(lines):
    """Yields `lines` without fenced blocks, literal blocks and interactive sessions."""
    fenced = session = False
    literal_indent = None
    for line in lines:
        stripped = line.strip()
        indent = len(line) - len(line.lstrip())
        if stripped.startswith("```"):
            fenced = not fenced
            yield ""
        elif fenced:
            continue
        elif not stripped:
            session = False
            yield ""
        elif literal_indent is not None and indent > literal_indent:
            continue
        elif stripped.startswith((">>>", "...")) or session:
            session = True
            literal_indent = None
        else:
            literal_indent = indent if stripped.endswith("::") else None
            yield line
