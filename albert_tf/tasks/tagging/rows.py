"""Sentences as rows of token ids: `[CLS] words [SEP]`, split into windows if long.

XLNet's rows are `words [SEP] [CLS]`.

Each word is tokenized separately, like Hugging Face's `is_split_into_words`, and
represented by its first piece.
"""

import dataclasses

import numpy as np

from albert_tf.tasks.tokenized_examples import TokenizedExamples
from albert_tf.tasks.tokenized_examples import begins_of
from albert_tf.tasks.tokenized_examples import place
from albert_tf.tasks.windows import Layout
from albert_tf.tokenization.parallel import encode_flat_in_parallel


@dataclasses.dataclass(frozen=True, kw_only=True)
class TagRows(TokenizedExamples):
    """Rows that are windows of sentences.

    Attributes:
        words: int32 `[len(ids)]`, the word whose first piece a token is, numbered over
            all sentences; -1 for other tokens.
        is_max_context: bool `[len(ids)]`, the tokens that have the most context in this
            window; words get their tags only from these.
    """

    words: np.ndarray
    is_max_context: np.ndarray

    def of_words(self, outputs, count):
        """Gathers the outputs at each word.

        Args:
            outputs: `[rows, tokens, L]`.
            count: the number of words in all sentences.

        Returns:
            `[count, L]`, zeros for words without tokens; bool `[count]`, whether a word
            has tokens.
        """
        chosen = np.flatnonzero((self.words >= 0) & self.is_max_context)
        rows = np.searchsorted(self.starts, chosen, side="right") - 1
        found = np.zeros((count, outputs.shape[-1]), outputs.dtype)
        found[self.words[chosen]] = outputs[rows, chosen - self.starts[rows]]
        has_token = np.zeros(count, np.bool_)
        has_token[self.words[chosen]] = True
        return found, has_token


def tokenize_sentences(sentences, tokenizer, max_seq_length, doc_stride):
    """Makes the `TagRows` of `Sentence`s.

    Args:
        max_seq_length: maximum number of tokens in a window, including special tokens.
        doc_stride: tokens between the starts of consecutive windows.
    """
    pieces, firsts, tokens = _pieces(sentences, tokenizer)
    row_layout = tokenizer.layout.padded_after
    others = np.full(len(sentences), row_layout.special(False))
    layout = Layout(row_layout, others, tokens, max_seq_length, doc_stride)
    here, text, token = layout.in_texts
    source = begins_of(tokens)[text] + token
    ids = layout.special_ids(tokenizer)
    ids[here] = pieces[source]
    words = np.full(len(ids), -1, np.int32)
    words[here] = firsts[source]
    lengths = layout.lengths.astype(np.int32)
    return TagRows(
        ids=ids,
        starts=layout.starts,
        lengths=lengths,
        first_lengths=lengths,
        words=words,
        is_max_context=layout.max_context(),
        layout=row_layout,
        pad_id=tokenizer.pad_id,
    )


def _pieces(sentences, tokenizer):
    """Returns ids, the word that each begins or -1, and each sentence's tokens."""
    by_sentence = [sentence.words for sentence in sentences]
    # A word is tokenized once, however often it occurs.
    distinct = dict.fromkeys(word for words in by_sentence for word in words)
    distinct = {word: number for number, word in enumerate(distinct)}
    words = list(map(tokenizer.as_word, distinct))
    ids, counts = encode_flat_in_parallel(tokenizer, words)
    word = np.array([distinct[w] for words in by_sentence for w in words], np.int64)
    lengths = counts[word].astype(np.int64)  # of each word of all sentences
    pieces = np.zeros(lengths.sum(), np.int32)
    place(ids, begins_of(counts)[word], lengths, begins_of(lengths), pieces)
    firsts = np.full(len(pieces), -1, np.int32)
    has_token = np.flatnonzero(lengths)
    firsts[begins_of(lengths)[has_token]] = has_token
    ends = np.cumsum([len(words) for words in by_sentence])
    total = np.concatenate([[0], np.cumsum(lengths)])[ends]
    return pieces, firsts, np.diff(total, prepend=0)
