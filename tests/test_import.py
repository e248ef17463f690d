"""`import albert_tf` does nothing to its host."""

import json
import subprocess
import sys

import pytest

import albert_tf

_COMPARE = """
import gc, json, logging, os, signal, sys, threading, warnings
{before}

def state():
    standard_error = os.fstat(2)
    return {{
        "excepthook": id(sys.excepthook),
        "meta_path": list(map(id, sys.meta_path)),
        "path_hooks": list(map(id, sys.path_hooks)),
        "environment": dict(os.environ),
        "frozen": gc.get_freeze_count(),
        "collects": [gc.isenabled(), gc.get_threshold()],
        "standard error": [standard_error.st_dev, standard_error.st_ino],
        "streams": [id(sys.stdout), id(sys.stderr)],
        "handlers": list(map(repr, logging.root.handlers)),
        "level": logging.root.level,
        "filters": list(map(str, warnings.filters)),
        "signals": [repr(signal.getsignal(s)) for s in (signal.SIGINT, signal.SIGTERM)],
        "threads": threading.active_count(),
        "directory": os.getcwd(),
    }}

first = state()
{imported}
second = state()
found = {{name: [first[name], second[name]] for name in first}}
found = {{name: pair for name, pair in found.items() if pair[0] != pair[1]}}
print(json.dumps([found, "tensorflow" in sys.modules]))
"""
_LIBRARIES = """
import keras, tensorflow, sentencepiece
sys.modules["tensorflow_text"] = None  # not installed
"""
_USED = "import albert_tf; albert_tf.AlbertModel; albert_tf.TextClassifier"
_EVERY_MODULE = """
import importlib, pkgutil
import data_pipeline
for package in (albert_tf, data_pipeline):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
folder, text = sys.argv[1:]
tokenizer = albert_tf.load_tokenizer(folder)
print(tokenizer.encode(text))
from albert_tf.tokenization.in_graph.tokenizer import InGraphTokenizer
try:
    InGraphTokenizer(tokenizer)([text])
except albert_tf.UserError as error:
    print(error)
"""


def printed(code, *arguments):
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("imported", ["import albert_tf", "import data_pipeline"])
def test_importing_the_package_changes_nothing(imported):
    (found,) = printed(_COMPARE.format(imported=imported, before=""))
    assert json.loads(found) == [{}, False]


@pytest.mark.slow
def test_using_it_changes_no_more_and_needs_tensorflow_text_for_graphs_alone(material):
    text, vocabulary = "the cat sat", str(material / "vocab.model")
    code = _COMPARE.format(imported=_USED, before=_LIBRARIES) + _EVERY_MODULE
    found, ids, sentence = printed(code, vocabulary, text)
    assert json.loads(found) == [{}, True]
    assert ids == str(albert_tf.load_tokenizer(vocabulary).encode(text))
    assert "pip install tensorflow-text" in sentence
