"""Runs the rows of a table on a corpus, at a scale of minutes."""

import concurrent.futures
import dataclasses
import itertools
import json
import pathlib

from albert_tf.config import AlbertConfig
from albert_tf.costs import albert
from albert_tf.io import checksums
from albert_tf.io.files import read_json_object
from albert_tf.io.files import write_atomically
from albert_tf.io.text_files import opened
from albert_tf.tokenization import load_tokenizer
from albert_tf.xlnet.config import XLNetConfig
from benchmarks.measuring import kept_runs
from benchmarks.paper import tasks
from benchmarks.paper import workers
from benchmarks.paper.rows import BLOCKS
from benchmarks.paper.rows import MUON
from benchmarks.paper.rows import slug
from benchmarks.pretraining_gain import read_results
from benchmarks.pretraining_gain import run_module
from data_pipeline.text.corpus import find_files
from data_pipeline.text.input_files import matching

_DATA = {
    "held_out_fraction": 0.02,
    "input_format": "paragraphs",
    "num_shards": 8,
}
# By objective: the class of the configuration, the file to begin with, the field with
# the size of the vocabulary, the fields that differ, and the data.
_MODELS = {
    "masked_lm": (
        AlbertConfig,
        "pretraining/tiny_config",
        "vocab_size",
        {
            "embedding_size": 32,
            "num_hidden_layers": 3,
            "max_position_embeddings": 64,
            "initializer_range": 0.05,
        },
        {"masking": "dynamic", "dupe_factor": 2},
    ),
    "permutation_lm": (
        XLNetConfig,
        "pretraining/xlnet_tiny_config",
        "n_token",
        {},
        {"objective": "permutation_lm", "bi_data": True},
    ),
}
_TRAINING = {
    "masked_lm": {"optimizer": "lamb", "learning_rate": 0.005},
    "permutation_lm": {"optimizer": "adamw", "learning_rate": 0.001},
}
_RESULTS = "results.json"


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Texts, and the data made of them."""

    input_file: str
    vocab_size: int
    folder: pathlib.Path

    def check(self):
        """Refuses a folder whose contents were not made of these texts."""
        texts = [pathlib.Path(path) for path in matching(self.input_file)]
        kept_runs.check(self.folder, input_file=texts, vocab_size=self.vocab_size)

    @property
    def vocabulary(self):
        """The SentencePiece model, trained at the first use."""
        path = self.folder / f"vocab_{self.vocab_size}.model"
        if not path.exists():
            flags = {
                "output_prefix": path.with_suffix(""),
                "vocab_size": self.vocab_size,
                "input_sentence_size": 50_000,
                "like": "official",
            }
            self._run("train_tokenizer", flags)
        return path

    def lines(self, number):
        """Reads the first lines of the texts that are not blank, without their ends."""
        with opened(find_files(self.input_file)[0].path) as file:
            texts = (line.decode("utf-8", "replace").rstrip("\r\n") for line in file)
            return list(itertools.islice(filter(str.strip, texts), number))

    def data(self, flags):
        """Returns the folder of records made with some flags; makes it if need be."""
        name = checksums.of_bytes(json.dumps(flags, sort_keys=True).encode())
        folder = self.folder / f"data_{name[:8]}"
        if not (folder / "held_out" / "dataset_info.json").exists():
            own = {"spm_model_file": self.vocabulary}
            if "mask_smoothing" in flags:
                counts = self.vocabulary.with_suffix(".counts")
                if not counts.exists():
                    self._run("count_tokens", {**own, "output_file": counts})
                own["token_counts_file"] = counts
            own["output_file"] = folder / "train.tfrecord"
            self._run("create_pretraining_data", {**own, **flags})
        return folder

    def _run(self, name, flags):
        texts = {"input_file": self.input_file, "input_format": _DATA["input_format"]}
        run_module(f"data_pipeline.{name}", {**texts, **flags})


def run(table, corpus, folder, flags):
    """Trains each row with each seed; finished runs are kept.

    Returns:
        Of each row, by its name, the results of each seed: dicts of results by the name
        of the evaluation.
    """
    sets = _held_out(table, corpus)
    rows = list(_rows(table, corpus, folder, flags))
    judges = tasks.chosen(flags) if table.judged_by_tasks else {}
    with workers.pool(min(flags.workers, len(rows) * flags.num_runs)) as pool:
        runs = {}
        for row, own in rows:
            sources = runs.get(row.starts_from, [None] * flags.num_runs)
            runs[row.name] = [
                pool.submit(_results, table, own, sets, judges, seed, source)
                for seed, source in enumerate(sources, 1)
            ]
        for run in concurrent.futures.as_completed(sum(runs.values(), [])):
            run.result()  # the first that fails ends them all
    return {name: [run.result() for run in found] for name, found in runs.items()}


def _rows(table, corpus, folder, flags):
    """Yields each row and the flags that its seeds share."""
    first = None
    for row in table.rows:
        config = _config(table, row, flags.block, load_tokenizer(corpus.vocabulary))
        cost = row.steps
        if table.equal_compute:
            spent = albert.training_flops(albert.forward_flops(config, *table.lengths))
            first = first or spent
            cost = first / spent
        steps = round(flags.num_train_steps * cost)
        length = {"num_train_steps": steps, "num_warmup_steps": steps // 10}
        if flags.train_minutes:  # as many steps as fit into them
            length = {"train_minutes": flags.train_minutes, "num_warmup_steps": 100}
        if row.block is None and flags.block == "modern":
            length |= MUON
        own = folder / slug(row.name)
        yield row, _flags(table, row, corpus, config, own, length)


def data_flags(table, row):
    """Returns the flags of create_pretraining_data for a row."""
    lengths = {"max_seq_length": table.max_seq_length}
    return {**lengths, **_DATA, **_MODELS[table.objective][-1], **row.data}


def _held_out(table, corpus):
    """Returns the flags of the evaluation data, by the parts that tell them apart."""
    rows = table.rows if table.all_held_out else table.rows[:1]
    found = {}
    for row in rows:
        flags = data_flags(table, row)
        own = {"eval_file": corpus.data(flags) / "held_out"}
        if flags.get("sentence_objective") == "none":  # It has no pairs to judge.
            own["sentence_objective"] = "none"
        found[row.name if table.all_held_out else ""] = own
    return found


def _config(table, row, block, tokenizer):
    config_class, path, size, changes, _ = _MODELS[table.objective]
    entries = config_class.from_json_file(path).to_dict()
    entries |= {**changes, size: tokenizer.vocab_size, **row.tiny}
    block = BLOCKS[row.block or block]
    if "hidden_act" in block:  # with a gate: two thirds cost as many operations
        entries["intermediate_size"] = entries["intermediate_size"] * 2 // 3
    return config_class.from_dict({**entries, **block}, source=row.name)


def _flags(table, row, corpus, config, folder, length):
    """Returns the flags that all seeds of a row share; writes its configuration."""
    flags = {
        "objective": table.objective,
        "input_file": corpus.data(data_flags(table, row)),
        "spm_model_file": corpus.vocabulary,
        "max_seq_length": table.max_seq_length,
        "max_predictions_per_seq": table.max_predictions_per_seq,
        **_TRAINING[table.objective],
        "train_batch_size": 32,
        "save_checkpoints_steps": 1000,
        "iterations_per_loop": 100,
        **length,
        **row.flags,
    }
    kept_runs.check(folder, **config.to_dict(), **flags)
    config.to_json_file(folder / "config.json")
    flags |= {"albert_config_file": folder / "config.json", "output_dir": folder}
    if row.starts_from:
        # A folder for each seed, as below `folder`.
        flags["init_checkpoint"] = folder.parent / slug(row.starts_from)
    return flags


def _results(table, flags, sets, judges, seed, source):
    """Returns a seed's results in each evaluation; waits for the run it starts from."""
    if source:
        source.result()
    folder = flags["output_dir"] / f"seed_{seed}"
    label = f"{folder.parent.name}, seed {seed}: "
    path = folder / _RESULTS
    if path.exists():
        found = read_json_object(path)
    else:
        found = _train_and_evaluate(table, flags, sets, folder, seed, label)
        write_atomically(path, json.dumps(found, indent=1))
    for name, judge in judges.items():
        if name not in found[""]:
            found[""][name] = judge(folder, seed, label)
            write_atomically(path, json.dumps(found, indent=1))
    return found


def _train_and_evaluate(table, flags, sets, folder, seed, label):
    flags = {**flags, "output_dir": folder, "random_seed": seed}
    if "init_checkpoint" in flags:
        flags["init_checkpoint"] /= folder.name
    run_module("run_pretraining", flags, label)
    if flags["objective"] != table.objective:  # whose losses do not compare
        return {"": {}}
    found = {}
    for data, held_out in sets.items():
        for name, changes in table.evaluations.items():
            changes = {
                **changes,
                **held_out,
                "do_train": False,
                "do_eval": True,
                "eval_any_objective": table.objective == "masked_lm",
            }
            if "init_checkpoint" in flags:  # which would be evaluated otherwise
                changes["init_checkpoint"] = folder
            run_module("run_pretraining", {**flags, **changes}, label)
            found[", ".join(filter(None, [data, name]))] = read_results(folder)
    return found
