"""Requests for vectors in the form of OpenAI's clients.

https://platform.openai.com/docs/api-reference/embeddings describes them.
"""

import base64
import dataclasses
import json

from albert_tf.errors import UserError
from albert_tf.tasks.similarity.search import unit

PATH = "/v1/embeddings"
VECTORS = "embedding"  # the output that holds them
_FORMATS = ("float", "base64")
_SERVER_ERRORS = 500


@dataclasses.dataclass(frozen=True)
class VectorRequest:
    """A checked request.

    Attributes:
        texts: a list of str.
        is_base64: whether vectors are sent as the bytes of float32 numbers.
        dimensions: the size of the vectors; None for the model's.
    """

    texts: list
    is_base64: bool
    dimensions: int | None

    @classmethod
    def read(cls, body):
        """Reads a request's JSON object; `user` and unknown fields have no effect.

        Raises:
            UserError: a field has another value than OpenAI's clients send, or `input`
                holds token ids.
        """
        texts = body.get("input")
        texts = [texts] if isinstance(texts, str) else texts
        if not isinstance(texts, list) or not texts:
            raise UserError('"input" must be a text or a list of texts.')
        if any(isinstance(text, int | list) for text in texts):
            raise UserError(
                '"input" holds token ids: send texts, which the model cuts itself.'
            )
        form = body.get("encoding_format")
        form = _FORMATS[0] if form is None else form
        if form not in _FORMATS:
            raise UserError(f'"encoding_format" must be {" or ".join(_FORMATS)}.')
        size = body.get("dimensions")
        if size is not None and (type(size) is not int or size < 1):
            raise UserError('"dimensions" must be a positive integer.')
        return cls(texts, form == "base64", size)

    def answer(self, vectors, normalizes, model, tokens):
        """Makes the JSON of the answer, bytes.

        Args:
            vectors: float32 `[texts, hidden]`.
            normalizes: whether the model's vectors have length 1, so that cut ones do.
            model: the model's name.
            tokens: how many tokens the model read.

        Raises:
            UserError: there are fewer numbers than `dimensions`.
        """
        width = vectors.shape[1]
        if self.dimensions is not None:
            if self.dimensions > width:
                raise UserError(f'"dimensions" must be 1 to {width}, the model\'s.')
            vectors = vectors[:, : self.dimensions]
            vectors = unit(vectors) if normalizes else vectors
        rows = vectors.astype("<f4")
        if self.is_base64:
            shown = [base64.b64encode(row.tobytes()).decode() for row in rows]
        else:
            shown = rows.tolist()
        data = [
            {"object": "embedding", "index": index, "embedding": row}
            for index, row in enumerate(shown)
        ]
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        content = {"object": "list", "data": data, "model": model, "usage": usage}
        return json.dumps(content, separators=(",", ":")).encode()


def error(status, message):
    """Makes the JSON object of a refusal."""
    kind = "server_error" if status >= _SERVER_ERRORS else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": None}}
