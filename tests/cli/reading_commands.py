"""Command lines that read a model, and the small files that they name beside it."""

import json
import pkgutil

from albert_tf.cli import commands

# The flags of each command; "{}" stands for the model.
READING = {
    "pretrain": "--init_checkpoint={} --input_file=texts.txt --output_dir=out "
    "--albert_config_file=config.json --max_seq_length=16 --max_predictions_per_seq=2",
    "classify": "--init_checkpoint={} --task_name=custom --data_dir=. --output_dir=out "
    "--do_train --max_seq_length=16",
    "squad": "--init_checkpoint={} --train_file=squad.json --predict_file=squad.json "
    "--output_dir=out --do_train --max_seq_length=16 --max_query_length=3",
    "race": "--init_checkpoint={} --task_name=custom --data_dir=choices "
    "--output_dir=out --do_train --max_seq_length=16 --max_qa_length=8",
    "tag": "--init_checkpoint={} --data_dir=tags --output_dir=out --do_train "
    "--max_seq_length=16 --doc_stride=4",
    "similarity": "--init_checkpoint={} --data_dir=similar --output_dir=out "
    "--do_train --max_seq_length=16",
    "fill-mask": "--model_dir={} [MASK]",
    "minimal-pairs": "--model_dir={} --input_file=pairs.tsv",
    "embed": "--model_dir={} --input_file=texts.txt --output_file=x.npy",
    "tools.inspect_layers": "--model_dir={} --output_dir=out text",
    "tools.early_exit": "--model_dir={} --eval_file=dev.tsv --output_dir=out",
    "export": "--model_dir={} --export_dir=served",
    "serve": "--model_dir={}",
    "convert": "--from={} --to=out",
    "tools.verify": "{}",
}
# They read no weights.
OTHERS = {"count-tokens", "vocab", "data", "describe", "squad-scores"}


def run_command(command, flags):
    """Runs a command of `albert-tf`, or the module of that name."""
    if command in commands.COMMANDS:
        commands.main(["albert-tf", command, *flags])
    else:
        pkgutil.resolve_name(f"{command}:main")([command, *flags])


def write_inputs(folder):
    """Writes the files into a folder, which is to be the working directory."""
    (folder / "texts.txt").write_text("a text\n")
    pairs = "sentence_good\tsentence_bad\na\tb\n"
    (folder / "pairs.tsv").write_text(pairs)
    answer = {"text": "a", "answer_start": 0}
    question = {"id": "q", "question": "b", "answers": [answer]}
    paragraph = {"context": "a", "qas": [question]}
    squad = {"data": [{"title": "t", "paragraphs": [paragraph]}]}
    (folder / "squad.json").write_text(json.dumps(squad))
    for kind in ("tags", "choices", "similar"):
        (folder / kind).mkdir()
    for role in ("train", "dev"):
        line = '{"tokens": ["a", "b"], "tags": ["B-X", "O"]}\n'
        (folder / "tags" / f"{role}.jsonl").write_text(line)
        (folder / f"{role}.tsv").write_text("sentence\tlabel\na\tno\nb\tyes\n")
        line = '{"context": "a", "options": ["b", "c"], "label": 0}\n'
        (folder / "choices" / f"{role}.jsonl").write_text(line)
        (folder / "similar" / f"{role}.tsv").write_text("anchor\tpositive\na\tb\n")
