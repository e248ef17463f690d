"""The pages: they render, the things they name exist, and their Python runs.

Other tests run the Python of docs/extending.md and docs/finetuning.md.
"""

import collections
import contextlib
import importlib.util
import itertools
import pathlib
import pkgutil
import re

import keras
import pytest
from markdown_it import MarkdownIt

import albert_tf
from albert_tf.serving.export import ExportOptions
from albert_tf.serving.export import export
from albert_tf.tasks.registry import create_task
from albert_tf.tokenization import load_tokenizer
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.options import DataOptions

_LONGEST_COMMAND = 100
# What commands and examples write, what other projects have, and placeholders.
_ELSEWHERE = """
    adapter_config.json added_tokens.json albert_config.json bert_config.json
    c3-d-train.json c3-m-train.json config.json config_sentence_transformers.json
    dataset_info.json dev_class_scores.json export_checkpoints.py export_to_tfhub.py
    flags.json head.json history.json my_recipe.json nbest_predictions.json
    null_odds.json predictions.json run_squad_v1.py run_squad_v2.py run_x.py
    signature.json special_tokens_map.json text_length.py text_length_model.py
    text_length_serving.py tokenizer.json tokenizer_config.json trackers.json
    train_minutes.json training_info.json xlnet_config.json
"""
_EXAMPLES = {
    "albert_tf.AutoTokenizer",
    "albert_tf.tasks.classification.text_length.TextLength",
}
_WRITTEN = re.compile(r"[\w./<>*-]+\.(?:py|json)\b")
_GFM = MarkdownIt("gfm-like", {"linkify": False})
_TABLE_LINE = re.compile(r"^\s*\||^[\s|:]*-[\s|:-]*\|", re.MULTILINE)
_RAW_MARKUP = re.compile(r"\*\*|~~|\]\(|\[[^]]*\]\[[^]]*\]|<!--")
_MODULE = re.compile(r"\b(?:albert_tf|benchmarks|data_pipeline|tools)(?:\.\w+)+")


def _pages(project):
    pages = sorted([*project.glob("*.md"), *project.glob("docs/*.md")])
    return {page: page.read_text(encoding="utf-8") for page in pages}


def _files(project):
    """Lists the paths of all files of the tree that are no build output."""
    folders = [f for f in project.iterdir() if f.is_dir() and f.name[0] != "."]
    files = [*project.iterdir(), *(f for d in folders for f in d.rglob("*"))]
    return [path.relative_to(project) for path in files]


def test_files_and_modules_that_pages_name_exist(project):
    files = _files(project)
    missing = []
    for page, text in _pages(project).items():
        missing += [
            f"{page.name}: {name}"
            for quoted in re.findall(r"`([^`\n]+)`", text)
            for name in _WRITTEN.findall(quoted)
            if pathlib.PurePath(name).name not in _ELSEWHERE.split()
            and not any(path.match(name.replace("<family>", "*")) for path in files)
        ]
        modules = sorted(set(_MODULE.findall(text)) - _EXAMPLES)
        missing += [f"{page.name}: {name}" for name in modules if not _resolves(name)]
    assert not missing


def _resolves(name):
    """Returns whether a dotted name is a module, or something within one."""
    with contextlib.suppress(ModuleNotFoundError):  # of a parent
        if importlib.util.find_spec(name):
            return True  # without its import: some need packages that are missing
    with contextlib.suppress(AttributeError, ImportError):
        pkgutil.resolve_name(name)
        return True
    return False


def _faults(page):
    """Lists what GitHub shows raw of a page, and its links that lead nowhere."""
    text = page.read_text(encoding="utf-8")
    lines, cells, found = text.splitlines(), set(), []
    tokens = _GFM.parse(text)
    for token in tokens:
        if token.type == "table_open":
            cells.update(range(*token.map))
            rows = lines[slice(*token.map)]
            if not re.search(r"[^|\s]", rows[0]):
                found.append(f"a table without a header: {rows[2]}")
            if len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) > 1:
                found.append(f"a table with rows of unequal width: {rows[0]}")
            # GitHub takes the backslash away, the site shows it.
            code = re.findall(r"`[^`]*\\\|[^`]*`", "\n".join(rows))
            found += [rf"\| in code: {part}" for part in code]
    for token in tokens:
        if token.type == "inline" and token.map and token.map[0] not in cells:
            source = "\n".join(lines[slice(*token.map)])
            if _TABLE_LINE.search(re.sub(r"`[^`]*`", "code", source)):
                found.append(f"a table that is none: {lines[token.map[0]]}")
        for part in token.children or []:
            if part.type == "text" and (raw := _RAW_MARKUP.search(part.content)):
                found.append(f"raw: {raw[0]}")
            if part.type == "code_inline" and r"\|" in part.content:
                found.append(rf"\| in code: {part.content}")
    return found + [f"a dead link: {at}" for at in _links(tokens) if _is_dead(at, page)]


def _links(tokens):
    """Lists the addresses of links and pictures, those in HTML too."""
    for token in tokens:
        yield from _links(token.children or [])
        yield from filter(None, (token.attrGet("href"), token.attrGet("src")))
        if token.type.startswith("html_"):
            yield from re.findall(r'(?:href|src)="([^"]*)"', token.content)


def _is_dead(address, page):
    if "://" in address or address.startswith("mailto:"):
        return False
    name, _, heading = address.partition("#")
    target = page.parent / name if name else page
    return not target.exists() or bool(heading and heading not in _anchors(target))


def _anchors(page):
    """Returns the names by which links find a page's headings on GitHub."""
    tokens, counts = _GFM.parse(page.read_text(encoding="utf-8")), collections.Counter()
    anchors = set()
    for opening, inline in itertools.pairwise(tokens):
        if opening.type == "heading_open":
            shown = "".join(part.content for part in inline.children)
            slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
            anchors.add(f"{slug}-{counts[slug]}" if counts[slug] else slug)
            counts[slug] += 1
    return anchors


def test_pages_render_without_raw_markup_or_dead_links(project):
    faults = [f"{page.name}: {f}" for page in _pages(project) for f in _faults(page)]
    assert not faults


def test_the_index_names_every_page_and_commands_fit_a_screen(project):
    index = (project / "docs" / "README.md").read_text()
    for page in project.glob("docs/*.md"):
        assert page.name == "README.md" or f"({page.name})" in index
    for page, text in _pages(project).items():
        for block in re.findall(r"```(?:bash|sh|shell)\n(.*?)```", text, re.DOTALL):
            assert max(map(len, block.splitlines())) <= _LONGEST_COMMAND, page.name


@pytest.fixture
def folder(tmp_path, monkeypatch, vocabulary, tiny_config):
    """The current folder, with the model that examples start from."""
    monkeypatch.chdir(tmp_path)
    words = ["a", "fine", "film", "dull"]
    pathlib.Path("vocab.txt").write_text(vocabulary(words))
    sizes = {"max_position_embeddings": 64, "initializer_range": 0.02}
    config = tiny_config(vocab_size=5 + len(words), num_hidden_layers=1, **sizes)
    model = albert_tf.AlbertForPreTraining(config)
    model.save_pretrained(_START, load_tokenizer("vocab.txt"))


_START = "demo_output/pretrained"


def _run_python(page, names=(), **replaced):
    """Runs the examples of a page, one after the other; returns their names."""
    text, names = page.read_text(encoding="utf-8"), dict(names)
    for example in re.findall(r"```(?:py|python)\n(.*?)```", text, re.DOTALL):
        for there, here in replaced.items():
            assert there in text
            example = example.replace(there, here)
        if re.search("import grpc|hf://|qdrant|onnxruntime_extensions", example):
            continue  # needs a server, a network or a file
        exec(compile(example, page.name, "exec"), names)
    return names


@pytest.mark.slow
def test_the_python_of_the_readme_runs(project, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = _run_python(project / "README.md")
    assert names["vectors"].shape == (2, 192)
    assert names["vector"].shape == (192,)
    assert isinstance(names["classifier"].model, keras.Model)
    assert pathlib.Path("tuned", "model.weights.h5").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "name", "shape"),
    [
        ("inference.md", "logits", (1, 5, 4000)),
        ("vectors.md", "vectors", (2, 192)),
        ("xlnet.md", "logits", (1, 1, 100)),
    ],
)
def test_the_python_of_a_page_runs(page, name, shape, project, folder):
    assert _run_python(project / "docs" / page)[name].shape == shape


@pytest.mark.slow
def test_the_python_on_checkpoints_runs(project, folder, capsys):
    # No BERT, and no download.
    there = ("albert_base", "uncased_L-2_H-128_A-2", "hf://albert/albert-base-v2")
    page = project / "docs" / "checkpoints.md"
    names = _run_python(page, **dict.fromkeys(there, _START))
    assert names["model"].num_labels == 3
    assert "new in the model: output_weights" in capsys.readouterr().out


@pytest.mark.slow
def test_the_python_on_serving_runs(project, export_of):
    served = str(export_of("classification").parent)
    names = _run_python(project / "docs" / "serving.md", **{"/models/sst-2": served})
    assert names["labels"] == [names["answer"]["label"], names["labels"][1]]
    assert names["arrays"]["probabilities"].shape == (2, 2)


@pytest.mark.nightly
def test_the_python_on_data_runs(project, folder):
    document = "a fine film\na dull film\nfine\nfilm a film\n\n"
    pathlib.Path("corpus.txt").write_text(document * 200)
    create_pretraining_data(
        DataOptions(
            input_file="corpus.txt",
            output_file="data/train-0.tfrecord",
            vocab_file="vocab.txt",
            masking="dynamic",
            max_seq_length=512,
            workers=1,
        )
    )
    names = {"albert_tf": albert_tf, "questions": ["a film"], "answers": ["fine"]}
    here = {"vocab/mine.model": "vocab.txt"}
    names = _run_python(project / "docs" / "data.md", names, **here)
    (batch,) = names["dataset"].take(1)
    for own, name, shape in (
        (names["features"], "input_ids", (2, 5)),
        (names["pairs"], "input_ids", (1, 128)),
        (batch, "input_ids", (32, 512)),
        (batch, "masked_lm_ids", (32, 77)),
    ):
        assert own[name].shape == shape


@pytest.mark.nightly
def test_the_python_on_served_heads_runs(project, folder):
    tokenizer = load_tokenizer("vocab.txt")
    tags = ["O", "B-PER", "I-PER"]
    tagger = albert_tf.AlbertForTokenClassification.from_pretrained(_START, labels=tags)
    tagger.classifier.output_bias.assign([0, 1, 0])
    tagger.save_pretrained("out/model", tokenizer)
    export(ExportOptions("out/model", "served/tagging"))
    names = _run_python(project / "docs" / "tagging.md")
    assert names["entity"]["label"] == "PER"
    assert names["answers"]["label"].shape[0] == 2
    reader = albert_tf.AlbertForQuestionAnswering.from_pretrained(_START)
    task = create_task("squad_v1", "squad", doc_stride=8, max_query_length=8)
    info = {"task": task.to_dict(), "max_seq_length": 32}
    reader.save_pretrained("out/model", tokenizer, info)
    export(ExportOptions("out/model", "served/squad"))
    names = _run_python(project / "docs" / "reading_comprehension.md")
    assert names["found"]["answer"] == names["found"]["answers"][0]["answer"]
    assert names["found"]["answer"] in "It was written by Ada."
