"""The paper's configurations: their costs, and the commands that would run them."""

import dataclasses

from albert_tf.config import AlbertConfig
from albert_tf.costs.albert import encoder_parameters
from albert_tf.costs.albert import forward_flops
from albert_tf.costs.albert import training_flops
from albert_tf.costs.albert import training_memory
from benchmarks.measuring import figures
from benchmarks.paper.rows import slug

_LENGTHS = (512, 77)
_BATCH, _STEPS = 4096, 125_000  # section 4.1
_ROWS_OF_A_DEVICE = 8
_MILLION, _GIBIBYTE, _EXA = 1e6, 2**30, 1e18
_COMMAND = (
    "python run_pretraining.py --config=pretraining/{recipe} --input_file={data} "
    "--spm_model_file=vocab.model --albert_config_file={config} --output_dir={run}"
)


def configuration(row):
    """Returns the `AlbertConfig` of a row: a released size with the row's changes."""
    return dataclasses.replace(
        AlbertConfig.from_json_file(row.base), **row.base_changes
    )


def write(table, folder):
    """Writes each row's configuration; returns a table and the commands as Markdown."""
    columns = ["", "parameters (millions)", "paper", "memory of 8 rows (GiB)"]
    columns += ["EFLOPs", f"paper: {table.figure}"]
    rows, commands = [], []
    folder.mkdir(parents=True, exist_ok=True)
    for row in table.rows:
        config = configuration(row)
        path = folder / f"{slug(row.name)}.json"
        config.to_json_file(path)
        memory = training_memory(config, _ROWS_OF_A_DEVICE, *_LENGTHS)
        tokens = _BATCH * _STEPS * _LENGTHS[0]
        flops = tokens * training_flops(forward_flops(config, *_LENGTHS))
        cells = [
            row.name,
            f"{sum(encoder_parameters(config).values()) / _MILLION:.1f}",
            f"{row.millions or '—'}",
            f"{sum(memory.values()) / _GIBIBYTE:.1f}",
            f"{flops / _EXA:.0f}",
            row.figure or "—",
        ]
        rows.append(cells)
        commands += _commands(row, path)
    lines = [f"## {table.title}", "", *figures.markdown(columns, rows), "", "```sh"]
    return "\n".join([*lines, *commands, "```"]) + "\n"


def _commands(row, path):
    data = "data"
    if row.data:
        data = f"data_{slug(row.name)}"
        made = "".join(f" --{flag}={value}" for flag, value in row.data.items())
        yield (
            "python -m data_pipeline.create_pretraining_data --input_file='corpus/*' "
            f"--output_file={data}/train.tfrecord --spm_model_file=vocab.model{made}"
        )
    yield _COMMAND.format(
        recipe=row.base.split("/")[1].split("_")[0],
        data=data,
        config=path,
        run=f"runs/{slug(row.name)}",
    )
