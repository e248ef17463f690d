"""Optional packages, which are asked for by the name of their extra."""

import re

_FOLDERS = ("albert_tf", "data_pipeline", "benchmarks", "tools", "docs")
# Those who test this project install them with make.
_UNNAMED = {"test"}


def test_pages_and_messages_name_extras_that_there_are(project):
    metadata = (project / "pyproject.toml").read_text(encoding="utf-8")
    extras = metadata.partition("[project.optional-dependencies]")[2]
    known = set(re.findall(r"^(\w+) = \[", extras.partition("\n[")[0], re.M))
    named = set()
    paths = [p for folder in _FOLDERS for p in (project / folder).rglob("*.*")]
    for path in [*paths, project / "README.md"]:
        if path.suffix in (".py", ".md"):
            text = path.read_text(encoding="utf-8")
            # Without quotes some shells take the brackets for a pattern.
            assert not re.search(r"install (-e )?(albert-tf|\.)\[", text), path
            named |= set(re.findall(r"(?:albert-tf|'\.)\[(\w+)\]", text))
    assert named | _UNNAMED == known
