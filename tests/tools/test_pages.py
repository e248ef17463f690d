"""The site: its menu, the pages that do not lie in docs/, and those that are made."""

import dataclasses
import importlib
import inspect
import itertools
import re

import albert_tf
from tools import figures
from tools import scaling
from tools.docs_site import pages


def test_every_public_name_has_a_page_and_a_docstring_that_explains_its_fields():
    paths = itertools.chain.from_iterable(pages.api_groups().values())
    names = [path.rpartition(".")[::2] for path in paths]
    assert {name for _, name in names} > set(albert_tf.__all__)
    assert len(names) == len(set(names))
    for module, name in names:
        value = getattr(importlib.import_module(module), name)
        assert value.__module__ == module
        assert vars(value).get("__doc__", value.__doc__), name
        if dataclasses.is_dataclass(value):
            told = re.findall(r"^ {4}(\w+): ", inspect.getdoc(value), re.MULTILINE)
            assert {field.name for field in dataclasses.fields(value)} <= {*told}, name
    found = pages.api_pages()
    assert found["api/AlbertConfig.md"].endswith("::: albert_tf.config.AlbertConfig\n")
    assert len(found) == len(names) + 1
    about = "| [`AlbertConfig`](AlbertConfig.md) | The fields of the official"
    assert about in found["api/index.md"]


def test_the_menu_has_every_page_and_the_overview_links_to_the_site(project):
    menu = (project / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    entries = re.findall(r"- (.+): ([\w/]+\.md)$", menu, re.MULTILINE)
    folder = project / "docs"
    there = {str(path.relative_to(folder)) for path in folder.rglob("*.md")}
    of_top_level = pages.top_level_pages()
    there |= {*of_top_level, *pages.notebook_pages()}
    assert {path for _, path in entries} == there
    assert len({title for title, _ in entries}) == len(entries)
    overview = of_top_level["overview.md"]
    assert "](docs/" not in overview and "](serving.md#" in overview
    assert "](notebooks/your_own_corpus.md)" in overview


def test_links_lead_to_pages_of_the_site_by_their_titles():
    page = "[this](../CHANGELOG.md), [that](data.md#text), [all](../README.md#a)."
    there = "[this](CHANGELOG.md), [that](data.md#text), [all](overview.md#a)."
    assert pages.links_to_top_level("[`a`](../albert_tf/a.md)") == "`a`"
    assert pages.links_to_top_level(page) == there
    titles = dict(pages.menu_titles([{"Use": [{"Serve": "serving.md"}]}]))
    page = "[docs/serving.md](serving.md), [serving.md, b](serving.md#b), `serving.md`"
    shown = "[Serve](serving.md), [Serve, b](serving.md#b), `serving.md`"
    assert pages.with_titles(page, titles) == shown


def test_pages_show_the_figures_of_today(project, tmp_path, monkeypatch):
    monkeypatch.chdir(project)
    texts = {path.name: path.read_bytes() for path in project.glob("docs/*.md")}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    (tmp_path / "figures").symlink_to(project / "docs" / "figures")
    figures.update(figures.FiguresOptions(docs=str(tmp_path)))
    page = str(tmp_path / "scaling.md")
    scaling.write_page(scaling.ScalingOptions(document=page))
    for name, text in texts.items():
        assert (tmp_path / name).read_bytes() == text
