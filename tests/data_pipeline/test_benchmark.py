"""The benchmark of the pipeline runs on a small corpus and prints every figure."""

import pytest

from benchmarks import data_pipeline as benchmark


def _options(corpus_file, model_file):
    return benchmark.Options(
        input_file=str(corpus_file),
        spm_model_file=model_file,
        max_seq_length=32,
        memory_factor=1,
    )


@pytest.mark.slow
def test_prints_every_figure(corpus_file, model_file, capsys):
    benchmark.benchmark(_options(corpus_file, model_file))
    printed = capsys.readouterr().out
    for figure in (
        "encoder alone, prepared lines",
        "static, one worker",
        "dynamic, one worker",
        "peak memory of a worker",
        "where a worker's time goes",
        "dynamic masking in tf.data",
    ):
        assert figure in printed


@pytest.mark.slow
def test_a_dead_worker_is_an_error_and_no_endless_wait(model_file, tmp_path):
    options = benchmark.Options(str(tmp_path / "missing.txt"), model_file)
    data_options = benchmark._data_options(options, "static", str(tmp_path))
    with pytest.raises(EOFError), benchmark._workers(data_options, 1):
        pass
