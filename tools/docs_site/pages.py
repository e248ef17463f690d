"""Hooks of MkDocs (`pip install '.[docs]'`), which `make docs` runs.

They add what does not lie in docs/: README.md as the overview and its beginning on the
landing page, the changelog and other files of the top folder, the notebooks, and a page
for each public name, which mkdocstrings fills.
"""

import importlib
import inspect
import itertools
import pathlib
import re

import albert_tf
from tools.docs_site import notebooks

# Users hold these objects or call them, though `albert_tf.__all__` lacks them.
_RELATED = (
    "albert_tf.models.base.PretrainedModel",
    "albert_tf.config.ModelConfig",
    "albert_tf.checkpoints.assignment.LoadReport",
    "albert_tf.tokenization.tokenizer.Tokenizer",
    "data_pipeline.input_pipeline.pretraining_dataset",
)
_SHORT = ("TextClassifier", "TextEmbedder", "Predictor")
_TOP_LEVEL = {
    "README.md": "overview.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
}
"""The pages of the site that are files of the top folder, and their names there."""
_FOLDER = pathlib.Path(__file__).parent
_PROJECT = _FOLDER.parent.parent
_NAMED_PAGE = re.compile(r"\[(?:docs/)?([\w/]+\.md)(, [^]]*|)\]\(")
_LINK_UP = re.compile(r"\[([^]]+)\]\(\.\./([^)#\s]+)(#[^)]*)?\)")
_LINK = re.compile(r"\[([^]]+)\]\((?!\w+:|#)([^)#\s]+)(#[^)]*)?\)")


def on_config(config):
    """Puts the API into the menu, and makes the anchors of headings GitHub's."""
    from pymdownx.slugs import slugify

    config.mdx_configs["toc"]["slugify"] = slugify(case="lower")
    (place,) = (entry for entry in config.nav if "API" in entry)
    groups = {
        group: [{path.rpartition(".")[2]: _page_of(path)} for path in paths]
        for group, paths in api_groups().items()
    }
    place["API"] = [{"All names": "api/index.md"}, *({g: p} for g, p in groups.items())]
    return config


def on_files(files, config):
    """Adds the pages to the pages of docs/, as MkDocs' event of that name asks."""
    from mkdocs.structure.files import File

    generated = {**top_level_pages(), **notebook_pages(), **api_pages()}
    for name, text in generated.items():
        files.append(File.generated(config, name, content=text))
    style = File.generated(config, "site.css", abs_src_path=str(_FOLDER / "site.css"))
    files.append(style)
    return files


def on_page_markdown(markdown, page, config, **_):
    """Leads links to the top folder to pages of the site; opens the landing page."""
    if "/" not in page.file.src_path:
        markdown = links_to_top_level(markdown)
    if page.file.src_path == "README.md":
        markdown = landing(markdown)
    return with_titles(markdown, dict(menu_titles(config.nav)))


def links_to_top_level(markdown):
    """Returns a page of docs/ whose links out of it lead to the site, or are text."""
    return _LINK_UP.sub(_link_of_top_level, markdown)


def menu_titles(entries):
    """Yields the file of each page of a menu, and its title there."""
    for title, below in itertools.chain.from_iterable(e.items() for e in entries):
        if isinstance(below, str):
            yield below, title
        else:
            yield from menu_titles(below)


def with_titles(markdown, titles):
    """Replaces the names of files by titles where they are the texts of links."""
    return _NAMED_PAGE.sub(lambda m: f"[{titles.get(m[1], m[1])}{m[2]}](", markdown)


def landing(index):
    """Returns the index of the pages, below what README.md says and shows first."""
    readme = (_PROJECT / "README.md").read_text(encoding="utf-8")
    opening = readme.partition("\n## ")[0]
    first_lines = re.search(r"```python\n.*?```", readme, re.DOTALL)[0]
    index = index.replace("# Documentation", "## What do you want to do?", 1)
    return f"{opening}\n{first_lines}\n\n{index}"


def top_level_pages():
    """Returns the Markdown of the pages that are files of the top folder, by name."""
    return {
        there: _LINK.sub(
            _link_of_top_level, (_PROJECT / name).read_text(encoding="utf-8")
        )
        for name, there in _TOP_LEVEL.items()
    }


def notebook_pages():
    """Returns the Markdown of the notebooks, by the file of their page."""
    return {
        f"notebooks/{path.stem}.md": notebooks.as_markdown(path)
        for path in (_PROJECT / "notebooks").glob("*.ipynb")
    }


def _link_of_top_level(link):
    """Leads a link to a page of the site, or leaves its text where there is none."""
    text, target, anchor = link[1], link[2], link[3] or ""
    if target.endswith(".ipynb"):
        return f"[{text}]({target.removesuffix('.ipynb')}.md)"
    if target.startswith("docs/"):
        return f"[{text}]({target.removeprefix('docs/')}{anchor})"
    return f"[{text}]({_TOP_LEVEL[target]}{anchor})" if target in _TOP_LEVEL else text


def api_groups():
    """Returns the paths of all names of the API, by the title of their group."""
    paths = {n: f"{getattr(albert_tf, n).__module__}.{n}" for n in albert_tf.__all__}
    classes = {*albert_tf.MODELS, *albert_tf.CONFIGS}
    groups = {"Few lines": [paths.pop(name) for name in _SHORT]}
    for family in ("Albert", "XLNet"):
        names = sorted(n for n in classes if n.startswith(family))
        groups[family.replace("Albert", "ALBERT")] = [paths.pop(n) for n in names]
    groups["Files and errors"] = list(paths.values())
    groups["What these return and share"] = list(_RELATED)
    return groups


def api_pages():
    """Returns the Markdown of the index of the API and of a page a name, by file."""
    offered = "`import albert_tf` offers those of all groups but the last."
    index = [f"# All public names\n\n{offered}\n"]
    pages = {}
    for group, paths in api_groups().items():
        index.append(f"\n## {group}\n\n| name | what it is |\n|---|---|")
        for path in paths:
            module, _, name = path.rpartition(".")
            value = getattr(importlib.import_module(module), name)
            about = inspect.getdoc(value).partition("\n")[0]
            index.append(f"| [`{name}`]({name}.md) | {about} |")
            pages[_page_of(path)] = f"---\ntitle: {name}\n---\n\n::: {path}\n"
    return {"api/index.md": "\n".join(index) + "\n", **pages}


def _page_of(path):
    return f"api/{path.rpartition('.')[2]}.md"
