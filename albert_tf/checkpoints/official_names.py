"""The variable names of the official TF1 checkpoints."""


def encoder_variables(albert):
    """The variables of an `AlbertModel` by official name, in network order."""
    embeddings = albert.embeddings
    scope = "bert/embeddings"
    variables = {
        f"{scope}/word_embeddings": embeddings.word_embeddings,
        f"{scope}/token_type_embeddings": embeddings.token_type_embeddings,
        f"{scope}/position_embeddings": embeddings.position_embeddings,
        **layer_norm_variables(f"{scope}/LayerNorm", embeddings.layer_norm),
    }
    if albert.embedding_mapping is not None:
        scope = "bert/encoder/embedding_hidden_mapping_in"
        variables |= dense_variables(scope, albert.embedding_mapping)
    for key, attention in albert.transformer.attention.items():
        scope = block_scope(key)
        for name in ("query", "key", "value"):
            variables |= dense_variables(
                f"{scope}/attention_1/self/{name}", getattr(attention, name)
            )
        variables |= dense_variables(
            f"{scope}/attention_1/output/dense", attention.output_dense
        )
        variables |= layer_norm_variables(f"{scope}/LayerNorm", attention.layer_norm)
    for key, feed_forward in albert.transformer.feed_forward.items():
        scope = f"{block_scope(key)}/ffn_1/intermediate"
        variables |= dense_variables(f"{scope}/dense", feed_forward.intermediate)
        variables |= dense_variables(f"{scope}/output/dense", feed_forward.output_dense)
        variables |= layer_norm_variables(
            f"{block_scope(key)}/LayerNorm_1", feed_forward.layer_norm
        )
    return variables | dense_variables("bert/pooler/dense", albert.pooler)


def masked_lm_variables(head):
    """The variables of a `MaskedLMHead` by official name."""
    scope = "cls/predictions"
    return {
        **dense_variables(f"{scope}/transform/dense", head.transform),
        **layer_norm_variables(f"{scope}/transform/LayerNorm", head.layer_norm),
        f"{scope}/output_bias": head.output_bias,
    }


def classification_variables(head, scope=""):
    """The variables of a `ClassificationHead`; `scope` ends in "/" or is empty."""
    return {
        f"{scope}output_weights": head.output_weights,
        f"{scope}output_bias": head.output_bias,
    }


def answer_beams_variables(head):
    """The variables of an `AnswerBeamsHead` by official name."""
    return {
        **dense_variables("start_logits/dense", head.start),
        **dense_variables("end_logits/dense_0", head.end_hidden),
        **layer_norm_variables("end_logits/LayerNorm", head.end_norm),
        **dense_variables("end_logits/dense_1", head.end),
        **dense_variables("answer_class/dense_0", head.answer_hidden),
        "answer_class/dense_1/kernel": head.answer.kernel,
    }


def dense_variables(scope, layer):
    """The variables of a Keras `Dense` layer."""
    return {f"{scope}/kernel": layer.kernel, f"{scope}/bias": layer.bias}


def layer_norm_variables(scope, layer):
    """The variables of a `LayerNorm`."""
    return {f"{scope}/beta": layer.beta, f"{scope}/gamma": layer.gamma}


def block_scope(key):
    """The scope of the parameters "g_j": inner block j of group g."""
    group, inner = key.split("_")
    return f"bert/encoder/transformer/group_{group}/inner_group_{inner}"
