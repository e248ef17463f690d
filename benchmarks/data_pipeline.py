"""Rate at which text becomes batches, against the SentencePiece encoder alone.

  python -m benchmarks.data_pipeline --input_file='corpus/*.txt' \\
      --spm_model_file=30k-clean.model

All rates are tokens a second of one run on one machine; compare the ratios, and
those only on a machine that does nothing else. The reference is
`SentencePieceProcessor.encode` on one thread, given the corpus's prepared lines
(white space, accents, case) as a list.
"""

import concurrent.futures
import contextlib
import dataclasses
import multiprocessing
import os
import shutil
import tempfile
import time

import sentencepiece

from albert_tf.cli import command_line
from albert_tf.cli.command_line import option
from albert_tf.tokenization.normalization import sentencepiece_text
from benchmarks.measuring.turns import peak_megabytes
from benchmarks.measuring.turns import seconds_of_passes
from benchmarks.measuring.turns import seconds_per_step
from data_pipeline.create_pretraining_data import create_pretraining_data
from data_pipeline.options import DataOptions
from data_pipeline.text import corpus

_REPEATS = 3


@dataclasses.dataclass(frozen=True)
class Options:
    input_file: str = option(
        "Text files to read: names, globs and folders, separated by commas."
    )
    spm_model_file: str = option("SentencePiece model that cuts the text into pieces.")
    max_seq_length: int = option("Length of a sequence, in tokens.", 512)
    memory_factor: int = option("How many times the memory test reads the corpus.", 10)


def benchmark(options):
    """Runs all measurements and prints them."""
    with tempfile.TemporaryDirectory() as folder:
        reference = _reference(options)
        _rates(options, folder, reference)
        _feeding(options, folder)


def _data_options(options, masking, folder):
    return DataOptions(
        input_file=options.input_file,
        output_file=os.path.join(folder, masking, "x.tfrecord"),
        spm_model_file=options.spm_model_file,
        max_seq_length=options.max_seq_length,
        masking=masking,
        dupe_factor=1,
        workers=1,
    )


def _reference(options):
    """Measures the encoder's rate alone, on prepared lines."""
    reader = corpus.Reader(corpus.find_files(options.input_file))
    lines = [line for d in reader.documents(0, 1) for line in d.segments]
    prepared = [sentencepiece_text(line, True) for line in lines]
    processor = sentencepiece.SentencePieceProcessor(options.spm_model_file)
    tokens = sum(map(len, processor.encode(prepared)))
    seconds = seconds_of_passes(
        lambda: processor.encode(prepared, num_threads=1), _REPEATS
    )
    rate = tokens / min(seconds)
    print(f"encoder alone, prepared lines: {rate:,.0f} tokens/s")
    return rate


def _rates(options, folder, reference):
    for masking in ("static", "dynamic"):
        data_options = _data_options(options, masking, folder)
        with (
            _copies(options.input_file, options.memory_factor) as longer,
            _workers(data_options, 2) as (first, second),
        ):
            one = _rate(data_options, [first])
            peak = first.submit(peak_megabytes).result()
            two = _rate(data_options, [first, second])
            # The second has seen half the text so far.
            longer_options = dataclasses.replace(data_options, input_file=longer)
            _rate(longer_options, [second], repeats=1)
            longer_peak = second.submit(peak_megabytes).result()
            print(
                f"{masking}, one worker: {one:,.0f} tokens/s, "
                f"{one / reference:.2f} of the encoder; two workers: "
                f"{two / one:.2f} times one"
            )
            print(
                f"{masking}, peak memory of a worker: {peak:.0f} MB, "
                f"{longer_peak:.0f} MB on {options.memory_factor} times the text"
            )


@contextlib.contextmanager
def _copies(input_file, count):
    """Makes a folder with `count` copies of the text: a run reads a file once."""
    with tempfile.TemporaryDirectory() as folder:
        for number, file in enumerate(corpus.find_files(input_file) * count):
            name = f"{number}-{os.path.basename(file.path)}"
            shutil.copy(file.path, os.path.join(folder, name))
        yield folder


@contextlib.contextmanager
def _workers(data_options, count):
    """Starts processes together, and yields an executor of each once all are ready."""
    context = multiprocessing.get_context("spawn")
    with contextlib.ExitStack() as stack:
        workers = [
            stack.enter_context(
                concurrent.futures.ProcessPoolExecutor(
                    1, context, _warm_up, (data_options,)
                )
            )
            for _ in range(count)
        ]
        for ready in [worker.submit(peak_megabytes) for worker in workers]:
            ready.result()
        yield workers


def _rate(data_options, workers, repeats=_REPEATS):
    """Returns the best rate at which workers write all shards, in tokens a second."""
    rate = 0.0
    for _ in range(repeats):
        start = time.perf_counter()
        jobs = [
            worker.submit(_tokens_written, data_options, number, len(workers))
            for number, worker in enumerate(workers)
        ]
        tokens = sum(job.result() for job in jobs)
        rate = max(rate, tokens / (time.perf_counter() - start))
    return rate


def _warm_up(data_options):
    """Compiles the mask and loads the vocabulary, with a thousandth of the text."""
    from data_pipeline.shards import workers

    workers.use_one_cpu()
    os.makedirs(os.path.dirname(data_options.output_file), exist_ok=True)
    _tokens_written(data_options, 0, 1000, f"warm-up{os.getpid()}-")


def _tokens_written(data_options, number, count, name="shard"):
    """Writes a shard of the text; returns its tokens."""
    # Imported here, so that --help does not wait for TensorFlow.
    from data_pipeline.shards.writing import write_shard

    files = corpus.find_files(data_options.input_file)
    directory = os.path.dirname(data_options.output_file)
    paths = {"train": [os.path.join(directory, f"{name}{k}") for k in range(count)]}
    parts = write_shard(data_options, files, number, paths, lambda *_: None)
    return parts["train"]["counts"].get("tokens", 0)


def _feeding(options, folder):
    from data_pipeline.input_pipeline import pretraining_dataset

    data_options = _data_options(options, "dynamic", os.path.join(folder, "feeding"))
    counts = create_pretraining_data(data_options)["train"]
    dataset = pretraining_dataset(
        data_options.output_file,
        data_options.tokenizer,
        64,
        options.max_seq_length,
        77,
        seed=1,
        training=True,
    )
    batches = max(1, counts["sequences"] // 64)
    iterator = iter(dataset)
    next(iterator)
    seconds = seconds_per_step(lambda: next(iterator), _REPEATS * batches)
    rate = 64 * options.max_seq_length / seconds
    print(f"dynamic masking in tf.data: {rate:,.0f} tokens/s")


if __name__ == "__main__":
    command_line.run(Options, benchmark)
