"""The commands under attack, with small material, and the files each should leave."""

import dataclasses
import pathlib

from benchmarks.faults.material import LENGTH
from benchmarks.faults.material import VOCAB_SIZE


@dataclasses.dataclass(frozen=True)
class Program:
    """A command with its flags."""

    name: str
    command: str
    flags: dict
    """Values may hold `{reference}`, the folder of the programs' outputs."""
    place: str = "output_dir"
    """The flag that names its output."""
    inside: str = ""
    """The output in its folder; "" for the folder itself."""
    workers: int = 1
    """Processes that run it together."""
    needs: tuple = ()
    """The programs whose output it reads."""

    def arguments(self, folder, reference):
        """Returns its command line, to write into `folder`."""
        where = pathlib.Path(folder) / self.inside
        values = {**self.flags, self.place: where}
        return [
            self.command,
            *(f"--{k}={str(v).format(reference=reference)}" for k, v in values.items()),
        ]


def changed(program, **flags):
    """Returns the same program with other values of some flags."""
    return dataclasses.replace(program, flags={**program.flags, **flags})


_RECORDS = {
    "input_file": "{reference}/material/corpus.txt",
    "spm_model_file": "{reference}/vocab/words.model",
    "max_seq_length": LENGTH,
    "max_predictions_per_seq": 3,
    "dupe_factor": 2,
    "held_out_fraction": 0.2,
    "num_shards": 4,
    "workers": 2,
}
_PRETRAIN = {
    "input_file": "{reference}/data/train*.tfrecord",
    "eval_file": "{reference}/data/held_out/*.tfrecord",
    "spm_model_file": "{reference}/vocab/words.model",
    "albert_config_file": "{reference}/material/config.json",
    "train_batch_size": 16,
    "learning_rate": 0.01,
    "num_train_steps": 120,
    "num_warmup_steps": 2,
    "iterations_per_loop": 3,
    "save_checkpoints_steps": 6,
    "eval_steps": 24,
    "max_eval_steps": 4,
    "do_eval": True,
    "use_xla": False,
    "deterministic": True,
}
_FINE_TUNE = {
    "init_checkpoint": "{reference}/pretrain",
    "max_seq_length": LENGTH,
    "learning_rate": 0.01,
    "train_step": 60,
    "train_batch_size": 8,
    "save_checkpoints_steps": 6,
    "iterations_per_loop": 3,
    "do_train": True,
    "do_predict": True,
}


VOCAB = Program(
    "vocab",
    "vocab",
    {"input_file": "{reference}/material/corpus.txt", "vocab_size": VOCAB_SIZE},
    "output_prefix",
    "words",
)
DATA = Program(
    "data", "data", _RECORDS, "output_file", "train.tfrecord", needs=(VOCAB,)
)


def _pretraining(name, **changes):
    return Program(name, "pretrain", {**_PRETRAIN, **changes}, needs=(DATA,))


PRETRAINING = (
    _pretraining("pretrain"),
    _pretraining("pretrain, XLA", use_xla=True),
    _pretraining(
        "pretrain, two phases",
        first_phase_steps=60,
        second_phase_input_file="{reference}/data/train-00000*",
        second_phase_train_batch_size=8,
    ),
    _pretraining("pretrain, accumulation", gradient_accumulation_steps=4),
    _pretraining("pretrain, float16", mixed_precision="float16"),
)
WORKERS = dataclasses.replace(
    _pretraining("pretrain, two workers", distribution_strategy="multi_worker"),
    workers=2,
)
PRETRAIN = PRETRAINING[0]
CLASSIFY = Program(
    "classify",
    "classify",
    {
        **_FINE_TUNE,
        "task_name": "custom",
        "data_dir": "{reference}/material/tables",
        "do_eval": True,
    },
    needs=(PRETRAIN,),
)
SQUAD = Program(
    "squad",
    "squad",
    {
        **_FINE_TUNE,
        "train_file": "{reference}/material/squad.json",
        "predict_file": "{reference}/material/squad.json",
        "max_query_length": 4,
        "doc_stride": 4,
    },
    needs=(PRETRAIN,),
)
EXPORT = Program(
    "export",
    "export",
    {"model_dir": "{reference}/classify/model"},
    "export_dir",
    "served",
    needs=(CLASSIFY,),
)
TO_HUGGING_FACE, TO_TF1 = (
    Program(
        f"convert to {form}",
        "convert",
        {"source": "{reference}/pretrain", "to_format": form},
        "to",
        needs=(PRETRAIN,),
    )
    for form in ("huggingface", "tf1")
)
EVERY = (VOCAB, DATA, PRETRAIN, CLASSIFY, SQUAD, EXPORT, TO_HUGGING_FACE, TO_TF1)
"""Commands whose folders are attacked, each once."""
KILLED = (*PRETRAINING, WORKERS, DATA, CLASSIFY, EXPORT)
"""The commands that are killed."""
LOCKING = (DATA, PRETRAIN, CLASSIFY, SQUAD)
"""Commands that lock their folder."""
