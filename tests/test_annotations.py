"""The public API is annotated, and its stub has the package's names."""

import ast
import importlib
import inspect
import operator
import pkgutil
import re
import subprocess
import sys

import pytest

import albert_tf
import data_pipeline
from albert_tf.families import registry
from albert_tf.tokenization.tokenizer import Tokenizer

_CLASSES = ("TextClassifier", "TextEmbedder", "Predictor")
_METHODS = [
    *(f"AlbertConfig.{name}" for name in ("from_dict", "from_json_file", "released")),
    *(f"AlbertConfig.{name}" for name in ("to_dict", "to_json_file", "with_dropout")),
    "AlbertModel.from_pretrained",
    "AlbertModel.save_pretrained",
    "XLNetConfig.from_json_file",
    "load_huggingface_checkpoint",
    "load_tf1_checkpoint",
    "load_tfhub_variables",
    "load_tokenizer",
    "register_model",
    *(f"{name}.__init__" for name in registry.model_names()),
]
_OF_TOKENIZERS = (
    *("__call__", "batch_decode", "convert_ids_to_tokens", "convert_tokens_to_ids"),
    *("decode", "encode", "encode_batch", "encode_flat", "encode_with_offsets"),
    *("fingerprint", "get_vocab", "save", "tokenize", "word_starts"),
)


def called():
    """Returns the names of what users call of the package, dotted."""
    own = [
        f"{name}.{member}"
        for name in _CLASSES
        for member, value in vars(getattr(albert_tf, name)).items()
        if inspect.isfunction(value)
        and (member in ("__init__", "__call__") or member[0] != "_")
    ]
    return [*own, *_METHODS]


def of_data_pipeline():
    """Returns what users call of `data_pipeline`: its commands, readers, data sets."""
    found = {}
    names = [own.name for own in pkgutil.iter_modules(data_pipeline.__path__)]
    for name in (*names, "text.corpus", "xlnet.dataset"):
        module = importlib.import_module(f"data_pipeline.{name}")
        for own in vars(module).values():
            if getattr(own, "__module__", None) != module.__name__:
                continue
            inside = vars(own) if inspect.isclass(own) else {own.__name__: own}
            for member, value in inside.items():
                value = getattr(value, "fget", None) or getattr(value, "func", value)
                value = inspect.unwrap(value)
                is_public = member == "__init__" or member[0] != "_"
                # A dataclass has methods that nobody wrote.
                file = getattr(getattr(value, "__code__", None), "co_filename", None)
                if is_public and file == module.__file__:
                    found[f"{name}.{own.__name__}.{member}"] = value
    return found


def test_all_are_annotated():
    functions = {name: operator.attrgetter(name)(albert_tf) for name in called()}
    functions |= {name: getattr(Tokenizer, name) for name in _OF_TOKENIZERS}
    functions |= of_data_pipeline()
    assert len(functions) > 100
    for name, function in functions.items():
        signature = inspect.signature(function)
        bare = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.annotation is inspect.Parameter.empty
        ]
        assert bare in ([], ["self"]), name
        assert signature.return_annotation is not inspect.Signature.empty, name


def test_the_stub_has_every_public_name_from_its_home(project):
    stub = ast.parse((project / "albert_tf" / "__init__.pyi").read_text())
    homes = {
        alias.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(homes) == set(albert_tf.__all__)
    for name, home in homes.items():
        assert getattr(importlib.import_module(home), name) is getattr(albert_tf, name)


@pytest.mark.slow
def test_the_python_of_the_readme_has_types(project, tmp_path):
    readme = (project / "README.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", readme, re.DOTALL))
    (tmp_path / "lines.py").write_text(code)
    # In a process of its own, whose memory is given back.
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(tmp_path / "lines.py")],
        cwd=project,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout
