"""The public API is annotated, and its stub has the package's names."""

import ast
import importlib
import inspect
import operator
import re
import subprocess
import sys

import pytest

import albert_tf
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


def test_all_are_annotated():
    functions = {name: operator.attrgetter(name)(albert_tf) for name in called()}
    functions |= {name: getattr(Tokenizer, name) for name in _OF_TOKENIZERS}
    for name, function in functions.items():
        parameters = inspect.signature(function).parameters.values()
        bare = [p.name for p in parameters if p.annotation is inspect.Parameter.empty]
        assert bare in ([], ["self"]), name
        assert "return" in function.__annotations__, name


def test_all_that_users_call_of_data_pipeline_is_annotated(project):
    root = project / "data_pipeline"
    paths = [root / "text" / "corpus.py", root / "xlnet" / "dataset.py"]
    for path in [*root.glob("*.py"), *paths]:
        for parent in ast.walk(ast.parse(path.read_text())):
            inside = (
                parent.body if isinstance(parent, ast.Module | ast.ClassDef) else ()
            )
            for own in inside:
                if isinstance(own, ast.FunctionDef) and own.name[0] != "_":
                    named = [*own.args.args, *own.args.kwonlyargs]
                    bare = [arg.arg for arg in named if arg.annotation is None]
                    assert bare in ([], ["self"], ["cls"]) and own.returns, own.name


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
