"""The program `albert-tf`: its commands, each imported only when it is asked for."""

import os
import pkgutil
import sys

import albert_tf
from albert_tf.cli import shell
from albert_tf.io.near_misses import close_name

_USAGE = """ALBERT for TensorFlow 2 and Keras 3: from raw text to a served model.

  albert-tf COMMAND --flag=value …
  albert-tf COMMAND --help
  albert-tf --version

Commands:
"""
_PATH = """From text to a served model, with files of your own:

  albert-tf vocab --input_file='corpus/*.txt' --output_prefix=mine --vocab_size=8000
  albert-tf data --input_file='corpus/*.txt' --spm_model_file=mine.model \\
      --output_file=data/train.tfrecord --num_shards=4 --held_out_fraction=0.01
  albert-tf pretrain --input_file='data/train*' --spm_model_file=mine.model \\
      --eval_file='data/held_out/*.tfrecord' \\
      --albert_config_file=albert/base_v2 --output_dir=pretrained
  albert-tf classify --task_name=custom --data_dir=tables \\
      --init_checkpoint=pretrained --output_dir=tuned --do_train --do_eval
  albert-tf export --model_dir=tuned/model --export_dir=served

A released model, such as hf://albert/albert-base-v2, takes the place of `pretrained`.
`albert-tf --help` lists all commands, `albert-tf COMMAND --help` the flags of one.
"""
_PAGES = """
The help of a command names pages as docs/PAGE.md: they lie in the project's repository
and in its source archive.
"""

COMMANDS = {
    "vocab": (
        "data_pipeline.train_tokenizer:main",
        "Train a vocabulary, or extend that of a model.",
    ),
    "count-tokens": (
        "data_pipeline.count_tokens:main",
        "Count how often each token occurs, for --mask_smoothing.",
    ),
    "data": (
        "data_pipeline.create_pretraining_data:main",
        "Turn text into TFRecords for pretraining.",
    ),
    "pretrain": ("albert_tf.pretraining.flags:main", "Pretrain a model on TFRecords."),
    "classify": (
        "albert_tf.tasks.classification.flags:main",
        "Fine-tune, score and apply a text classifier or regressor.",
    ),
    "squad": (
        "albert_tf.tasks.question_answering.flags:main",
        "Fine-tune, score and apply a model that answers questions.",
    ),
    "race": (
        "albert_tf.tasks.multiple_choice.flags:main",
        "Fine-tune, score and apply a model that chooses among options.",
    ),
    "tag": (
        "albert_tf.tasks.tagging.flags:main",
        "Fine-tune, score and apply a model that finds entities in texts.",
    ),
    "similarity": (
        "albert_tf.tasks.similarity.flags:main",
        "Train, score and export vectors of texts that mean the same.",
    ),
    "rank": (
        "albert_tf.tasks.ranking.flags:main",
        "Train, score and apply a model that ranks texts for a query.",
    ),
    "squad-scores": (
        "albert_tf.tasks.question_answering.evaluate:main",
        "Score predictions for SQuAD 1.1 or 2.0.",
    ),
    "fill-mask": (
        "albert_tf.commands.fill_mask:main",
        "Guess the tokens in the place of [MASK].",
    ),
    "minimal-pairs": (
        "albert_tf.commands.minimal_pairs:main",
        "Score a model on pairs of an acceptable sentence and one that is not.",
    ),
    "embed": ("albert_tf.commands.embed:main", "Turn texts into vectors."),
    "search": (
        "albert_tf.commands.search:main",
        "Build an index of texts, and search it.",
    ),
    "mine": (
        "albert_tf.commands.mine:main",
        "Find hard negatives for pairs of texts.",
    ),
    "export": (
        "albert_tf.serving.export:main",
        "Export a model for TensorFlow Serving.",
    ),
    "serve": ("albert_tf.commands.serve:main", "Answer HTTP requests with a model."),
    "convert": (
        "albert_tf.commands.convert:main",
        "Convert between official, Hugging Face and our own checkpoints.",
    ),
    "models": (
        "albert_tf.commands.models:main",
        "List the models that have a name.",
    ),
    "compare": (
        "albert_tf.commands.compare:main",
        "Show runs side by side: settings, minutes, losses, scores, curves.",
    ),
    "upload": (
        "albert_tf.commands.upload:main",
        "Upload a model to the Hugging Face Hub.",
    ),
    "describe": (
        "albert_tf.commands.describe:main",
        "Count parameters and operations; estimate memory and hours.",
    ),
}
"""Each command's "module:function", which takes a command line whose first item names
the program, and a one-line description."""

# What other programs call some commands.
_ELSEWHERE = {
    "finetune": "classify",
    "generate": "fill-mask",
    "predict": "classify --do_predict",
    "train": "pretrain or classify",
}


def main(argv=None):
    """Runs the command that `argv`, by default `sys.argv`, names."""
    argv = sys.argv if argv is None else argv
    if shell.is_asked():
        shell.complete_commands(COMMANDS)
        argv = os.environ["COMP_LINE"].split()
    name = argv[1] if len(argv) > 1 else None
    if name is None:
        print(_PATH, end="")
        return
    if name in ("--help", "-h", "help"):
        print(_USAGE + "\n".join(f"  {n:16}{c[1]}" for n, c in COMMANDS.items()))
        print(_PAGES, end="")
        return
    if name == "--version":
        print(f"albert-tf {albert_tf.__version__}")
        return
    if name not in COMMANDS:
        close = _ELSEWHERE.get(name) or close_name(name, [*COMMANDS, "--version"])
        meant = f"did you mean {close}?" if close else "albert-tf --help lists them."
        sys.exit(f"error: albert-tf has no command {name!r}; {meant}")
    run = pkgutil.resolve_name(COMMANDS[name][0])
    run([f"albert-tf {name}", *argv[2:]])


if __name__ == "__main__":
    main()
