"""One vector for a text, from the encoder's vectors of its tokens."""

from keras import ops

from albert_tf.errors import UserError

POOLINGS = ("mean", "cls", "pooler")


def text_vectors(
    encoded, input_mask, pooling, layer=-1, normalize=False, cls_position=0
):
    """Computes vectors of texts, float32 `[batch, hidden]`.

    Args:
        encoded: the outputs of `AlbertModel`, or of `XLNetModel`.
        input_mask: `[batch, tokens]`, 0 for padding.
        pooling: "mean" over all tokens, the special ones included; "cls", the
            classification token's; or "pooler", the pooled output, which knows the last
            layer only.
        layer: the layer to read, from 1; negative ones count from the end.
        normalize: whether to make each vector's length 1.
        cls_position: place of the classification token in the rows, -1 for the last.

    Raises:
        UserError: as `check_choice`.
    """
    layers = encoded["hidden_states"]
    check_choice(pooling, layer, len(layers))
    if pooling == "pooler":
        vectors = ops.cast(encoded["pooled_output"], "float32")
    else:
        is_last = layer in (-1, len(layers))
        hidden = encoded["sequence_output"] if is_last else layers[layer - (layer > 0)]
        hidden = ops.cast(hidden, "float32")  # [B, T, H]
        vectors = hidden[:, cls_position]
        if pooling == "mean":
            # Not sliced with a new axis, which TensorFlow Lite cannot.
            weights = ops.expand_dims(ops.cast(input_mask, "float32"), 2)  # [B, T, 1]
            vectors = ops.sum(hidden * weights, axis=1) / ops.sum(weights, axis=1)
    return ops.normalize(vectors, axis=-1) if normalize else vectors


def check_choice(pooling, layer, num_layers, poolings=POOLINGS):
    """Refuses a choice that a model of `num_layers` does not offer `text_vectors`.

    Raises:
        UserError: an unknown pooling, a layer that the model does not have, or
            "pooler" of another layer than the last.
    """
    if pooling not in poolings:
        raise UserError(f"pooling={pooling!r}: expected one of {', '.join(poolings)}.")
    if not 1 <= abs(layer) <= num_layers:
        raise UserError(
            f"layer={layer}: the model has the layers 1 to {num_layers}; -1 is the "
            "last, -2 the one before it."
        )
    if pooling == "pooler" and layer not in (-1, num_layers):
        raise UserError(
            f"pooling='pooler' reads the last layer, not layer={layer}; leave the "
            "layer out, or choose 'mean' or 'cls'."
        )
