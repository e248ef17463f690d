"""Hooks of MkDocs (`pip install '.[docs]'`), which `make docs` runs.

They add pages that do not lie in docs/: the API, which lists the public names by the
modules that define them for mkdocstrings, the changelog and the guide for contributors.
"""

import pathlib

import albert_tf

# Users hold these objects or call them, though `albert_tf.__all__` lacks them.
_RELATED = (
    "albert_tf.models.base.PretrainedModel",
    "albert_tf.config.ModelConfig",
    "albert_tf.checkpoints.assignment.LoadReport",
    "albert_tf.tokenization.tokenizer.Tokenizer",
    "data_pipeline.input_pipeline.pretraining_dataset",
)
_TOP_LEVEL = ("CHANGELOG.md", "CONTRIBUTING.md")


def on_files(files, config):
    """Adds the pages to the pages of docs/, as MkDocs' event of that name asks."""
    from mkdocs.structure.files import File

    project = pathlib.Path(config.config_file_path).parent
    pages = {"api.md": api_page()}
    for name in _TOP_LEVEL:
        text = (project / name).read_text(encoding="utf-8")
        pages[name] = text.replace("](docs/", "](")
    for name, text in pages.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown, **_):
    """Rewrites links of a page to the top folder as links to pages of the site."""
    for name in _TOP_LEVEL:
        markdown = markdown.replace(f"](../{name}", f"]({name}")
    return markdown


def api_page():
    """Returns the Markdown of the page: a heading and a reference a name."""
    parts = ["# API\n\n## Public names\n\n`import albert_tf` offers these names.\n"]
    for name in albert_tf.__all__:
        home = getattr(albert_tf, name).__module__
        parts.append(
            f"::: {home}.{name}\n    options:\n      show_root_full_path: false\n"
        )
    parts.append("## What these names return and share\n")
    parts.extend(f"::: {path}\n" for path in _RELATED)
    return "\n".join(parts)
