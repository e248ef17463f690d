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


def changed(imported, before=""):
    """Returns an import's changes in its process, and whether TensorFlow is there."""
    code = _COMPARE.format(imported=imported, before=before)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("imported", ["import albert_tf", "import data_pipeline"])
def test_importing_the_package_changes_nothing(imported):
    assert changed(imported) == [{}, False]


@pytest.mark.slow
def test_using_it_changes_no_more_than_tensorflow_itself():
    libraries = "import keras, tensorflow, tensorflow_text, sentencepiece"
    used = "import albert_tf; albert_tf.AlbertModel; albert_tf.TextClassifier"
    assert changed(used, before=libraries) == [{}, True]


_WITHOUT_TENSORFLOW_TEXT = """
import importlib, pkgutil, sys
sys.modules["tensorflow_text"] = None  # not installed
import albert_tf, data_pipeline
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


@pytest.mark.slow
def test_only_text_in_graphs_needs_tensorflow_text(project, material):
    text = "the cat sat"
    vocabulary = str(material / "vocab.model")
    command = [sys.executable, "-c", _WITHOUT_TENSORFLOW_TEXT, vocabulary, text]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    ids, sentence = done.stdout.splitlines()
    assert ids == str(albert_tf.load_tokenizer(vocabulary).encode(text))
    assert "pip install tensorflow-text" in sentence
