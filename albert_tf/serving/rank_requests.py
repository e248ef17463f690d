"""Requests for ranks in the form of Cohere's and Jina's clients.

https://docs.cohere.com/reference/rerank describes them.
"""

import dataclasses
import json

import numpy as np

from albert_tf.errors import UserError

PATHS = ("/rerank", "/v1/rerank", "/v2/rerank")


@dataclasses.dataclass(frozen=True)
class RankRequest:
    """A checked request.

    Attributes:
        query: str.
        texts: a list of str.
        top_n: the largest number of results; None for all.
        returns_texts: whether results hold their texts.
    """

    query: str
    texts: list
    top_n: int | None
    returns_texts: bool

    @classmethod
    def read(cls, body):
        """Reads a request's JSON object; unknown fields have no effect.

        Raises:
            UserError: a field has another value than such clients send.
        """
        query, documents = body.get("query"), body.get("documents")
        if not isinstance(query, str):
            raise UserError('"query" must be a text.')
        if not isinstance(documents, list) or not documents:
            raise UserError('"documents" must be a list of texts.')
        texts = [d.get("text") if isinstance(d, dict) else d for d in documents]
        if not all(isinstance(text, str) for text in texts):
            raise UserError('"documents" must be texts, or objects with a "text".')
        top = body.get("top_n")
        if top is not None and (type(top) is not int or top < 1):
            raise UserError('"top_n" must be a positive integer.')
        return cls(query, texts, top, body.get("return_documents") is True)

    def columns(self, first, second):
        """Returns the strings by the names of the model's inputs."""
        return {first: [self.query] * len(self.texts), second: self.texts}

    def answer(self, scores, model):
        """Makes the JSON of the answer, bytes: results, best first.

        Args:
            scores: float32 `[texts]`.
            model: the model's name.
        """
        order = np.argsort(-scores, kind="stable")[: self.top_n]
        results = [
            {"index": int(i), "relevance_score": float(scores[i])} for i in order
        ]
        if self.returns_texts:
            results = [
                {**own, "document": {"text": self.texts[own["index"]]}}
                for own in results
            ]
        content = {"model": model, "results": results}
        return json.dumps(content, separators=(",", ":")).encode()


def has_scores(outputs, labels):
    """Returns whether one of the served outputs ranks.

    It is a number, or the probability of the only label.

    Args:
        outputs: the names of the outputs.
        labels: the names of the model's labels.
    """
    return "score" in outputs or ("probabilities" in outputs and len(labels) == 1)


def scores_in(outputs):
    """Returns the output that ranks, `[rows]`; see `has_scores`."""
    return outputs["score"] if "score" in outputs else outputs["probabilities"][:, 0]


def error(message):
    """Makes the JSON object of a refusal."""
    return {"message": message}
