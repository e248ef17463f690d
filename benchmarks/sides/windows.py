"""Questions to windows with this project, in turns.

The setting has data_file, vocabulary, max_seq_length, doc_stride. Requests are
"time", for the windows of all questions from memory, and "memory", for the windows of
the file as it is read.
"""

from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.windows import WindowSizes
from albert_tf.tasks.question_answering.windows import windows_of
from albert_tf.tokenization import load_tokenizer
from benchmarks.measuring import turns


def main(setting):
    """Answers requests with seconds and windows, or with the peak in MB."""
    tokenizer = load_tokenizer(setting["vocabulary"])
    sizes = WindowSizes(setting["max_seq_length"], setting["doc_stride"])
    paragraphs = []

    def make(some):
        return sum(map(len, windows_of(some, tokenizer, sizes, {})))

    def take_turn(request):
        if request == "memory":
            make(read_paragraphs(setting["data_file"]))
            return {"peak": turns.peak_megabytes()}
        if not paragraphs:
            paragraphs.extend(read_paragraphs(setting["data_file"]))
        return turns.seconds_of(lambda: make(paragraphs))

    return take_turn, ""
