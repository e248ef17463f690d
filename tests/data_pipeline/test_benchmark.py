"""The benchmark of the pipeline runs on a small corpus and prints every figure."""

import os

import pytest

from benchmarks import data_pipeline as benchmark


def _options(corpus_file, model_file):
    return benchmark.Options(
        input_file=str(corpus_file),
        spm_model_file=model_file,
        max_seq_length=32,
        memory_factor=1,
    )


class _WorkerHere:
    """A worker that writes in this process, which has imported TensorFlow."""

    def __init__(self, data_options):
        os.makedirs(os.path.dirname(data_options.output_file), exist_ok=True)
        self._answers = ["ready"]

    def send(self, *task):
        self._answers.append(benchmark._tokens_written(*task))

    def receive(self):
        return self._answers.pop(0)

    def peak(self):
        return 1.0

    def end(self):
        assert not self._answers


@pytest.mark.nightly
def test_prints_every_figure(corpus_file, model_file, capsys, monkeypatch):
    monkeypatch.setattr(benchmark, "_Worker", _WorkerHere)
    benchmark.benchmark(_options(corpus_file, model_file))
    printed = capsys.readouterr().out
    for figure in (
        "encoder alone, prepared lines",
        "static, one worker",
        "dynamic, one worker",
        "peak memory of a worker",
        "dynamic masking in tf.data",
    ):
        assert figure in printed


@pytest.mark.nightly
def test_a_worker_is_a_process_and_a_dead_one_no_endless_wait(
    corpus_file, model_file, tmp_path
):
    options = benchmark._data_options(
        _options(corpus_file, model_file), "dynamic", str(tmp_path)
    )
    with benchmark._workers(options, 1) as [worker]:
        assert benchmark._rate(options, [worker], repeats=1) > 0
        assert worker.peak() > 100
        worker._process.kill()
        with pytest.raises(EOFError):
            worker.receive()
