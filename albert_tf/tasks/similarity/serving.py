"""Answers of a served model of vectors."""

from albert_tf.tasks.serving import Head

_POOLINGS = {
    "mean": "the mean over its tokens",
    "cls": "that of its classification token",
    "pooler": "the pooled output",
}


class TextEmbeddingHead(Head):
    """A vector for each text, as an `AlbertForTextEmbedding` or its like pools it."""

    name = "embedding"

    @property
    def pooling(self):
        """The way from vectors of tokens to one."""
        return self.model.pooling

    @property
    def normalize(self):
        """True if each vector's length is 1."""
        return self.model.normalize

    def numbers(self, outputs):
        return {"embedding": outputs}

    def meaning(self):
        length = " of length 1" if self.normalize else ""
        pooling = _POOLINGS[self.pooling]
        return {"embedding": f"a vector{length} for the text: {pooling}"}
