"""Time and memory of one long text in a batch of short ones, for every served head.

    python -m benchmarks.long_texts
    python -m benchmarks.long_texts --heads=tagging --characters=1000000

Every line is a process of its own, with a model of one small layer, so that texts and
windows cost more than products. Memory is the rise of the process's peak by the
request, over the peak of a first request of short texts.
"""

import argparse
import concurrent.futures
import itertools
import multiprocessing
import tempfile
import time

from benchmarks.measuring.turns import peak_megabytes

HEADS = (
    "question_answering",
    "tagging",
    "multiple_choice",
    "classification",
    "masked_lm",
    "embedding",
)
SENTENCE = "It is a very good film, and the plot of 1984 was not bad. "


def vocabulary(folder):
    """Makes a small SentencePiece vocabulary."""
    from data_pipeline import train_tokenizer

    path = f"{folder}/text.txt"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{SENTENCE}\n" * 20)
    options = train_tokenizer.TokenizerOptions(
        input_file=path, output_prefix=f"{folder}/spiece", vocab_size=40
    )
    train_tokenizer.train_tokenizer(options)
    from albert_tf.tokenization import load_tokenizer

    return load_tokenizer(f"{folder}/spiece.model")


def predictor(head, folder):
    """Returns a `Predictor` with a random model."""
    from albert_tf import AlbertConfig
    from albert_tf import Predictor
    from albert_tf.models.pretraining import AlbertForPreTraining
    from albert_tf.tasks.registry import create_task

    tokenizer = vocabulary(folder)
    config = AlbertConfig(
        vocab_size=tokenizer.vocab_size,
        embedding_size=8,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    tasks = {
        "question_answering": ("squad_v1", "squad", {}),
        "tagging": ("tagging", "custom", {"labels": ("O", "B-A", "I-A")}),
        "multiple_choice": ("multiple_choice", "custom", {}),
        "classification": ("single_label", "custom", {"labels": ("a", "b")}),
    }
    if head not in tasks:
        return Predictor(AlbertForPreTraining(config), tokenizer, task=head)
    kind, name, fields = tasks[head]
    task = create_task(kind, name, **fields)
    model = task.model_class(config, **task.model_arguments())
    model.save_pretrained(folder, tokenizer, {"task": task.to_dict()})
    return Predictor(folder)


def measure(head, characters):
    """Prints seconds and MiB of a batch with one text of so many characters."""
    with tempfile.TemporaryDirectory() as folder:
        ask = predictor(head, folder)
        long_text = (SENTENCE * (characters // len(SENTENCE) + 1))[:characters]
        texts = [SENTENCE] * 8
        ask.arrays(*arguments(ask, texts))
        before, begin = peak_megabytes(), time.perf_counter()
        ask.arrays(*arguments(ask, [*texts[:-1], long_text]))
        seconds = time.perf_counter() - begin
        rise = peak_megabytes() - before
        print(f"{head:20}{characters:12,}{seconds:10.1f}{rise:10.0f}", flush=True)


def arguments(ask, texts):
    """Returns the columns of a call, the texts in the column that may be long."""
    columns = {
        "question": ["was it good?"] * len(texts),
        "options": [["good", "bad"]] * len(texts),
    }
    return [columns.get(name, texts) for name in ask.inputs]


def main():
    """Prints a line for each head and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--heads", default=",".join(HEADS))
    parser.add_argument("--characters", default="100000,1000000")
    options = parser.parse_args()
    sizes = map(int, options.characters.split(","))
    print(f"{'head':20}{'characters':>12}{'seconds':>10}{'MiB':>10}", flush=True)
    for pair in itertools.product(options.heads.split(","), sizes):
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(1, context) as process:
            process.submit(measure, *pair).result()


if __name__ == "__main__":
    main()
