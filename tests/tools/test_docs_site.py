"""The pages of the site that do not lie in docs/."""

import importlib
import re

import albert_tf
from tools.docs_site import pages


def _references():
    return re.findall(r"^::: ([\w.]+)\.(\w+)$", pages.api_page(), re.MULTILINE)


def test_the_api_lists_every_public_name_by_its_module():
    assert {name for _, name in _references()} > set(albert_tf.__all__)
    assert ("albert_tf.config", "AlbertConfig") in _references()
    assert len(_references()) == len(set(_references()))


def test_every_name_of_the_api_has_a_docstring_of_its_own():
    for module, name in _references():
        value = getattr(importlib.import_module(module), name)
        assert value.__module__ == module
        assert vars(value).get("__doc__", value.__doc__), name


def test_links_to_the_top_folder_lead_to_pages_of_the_site():
    page = "See [this](../CHANGELOG.md), [that](data.md#text)."
    there = "See [this](CHANGELOG.md), [that](data.md#text)."
    assert pages.on_page_markdown(page) == there
