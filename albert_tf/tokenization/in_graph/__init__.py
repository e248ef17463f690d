"""The tokenizers as operations of a graph, for serving and for tf.data."""
