"""New pieces in a model's tables: each starts as the mean of those it replaces."""

import numpy as np

# The ends of the official names of tables with a row for each piece.
_TABLES = (
    "embeddings/word_embeddings",
    "predictions/output_bias",
    "predictions/output_embeddings",
    "word_embedding/lookup_table",
    "lm_loss/bias",
)


def with_new_pieces(tensors, first, replaced):
    """Gives new pieces rows in every table of the vocabulary.

    Args:
        tensors: arrays by official name.
        first: the id of the first new piece. Rows that are there already have no piece.
        replaced: for each new piece, the list of the ids in whose place it comes.

    Returns:
        The arrays by official name.
    """
    return {
        name: _grown(table, first, replaced) if name.endswith(_TABLES) else table
        for name, table in tensors.items()
    }


def _grown(table, first, replaced):
    means = [table[ids].mean(axis=0, dtype=np.float64) for ids in replaced]
    rest = table[first + len(replaced) :]
    return np.concatenate([table[:first], np.asarray(means, table.dtype), rest])
