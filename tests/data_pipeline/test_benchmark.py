"""The benchmark of the pipeline runs on a small corpus and prints every figure."""

import pytest

from benchmarks import data_pipeline as benchmark


@pytest.mark.nightly
def test_prints_every_figure(corpus_file, model_file, capsys):
    benchmark.benchmark(
        benchmark.Options(
            input_file=str(corpus_file),
            spm_model_file=model_file,
            max_seq_length=32,
            memory_factor=1,
        )
    )
    printed = capsys.readouterr().out
    for figure in (
        "encoder alone, prepared lines",
        "static, one worker",
        "dynamic, one worker",
        "peak memory of a worker",
        "dynamic masking in tf.data",
    ):
        assert figure in printed
