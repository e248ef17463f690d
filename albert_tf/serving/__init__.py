"""SavedModels that take raw text, and a client for them."""

__all__ = ["Predictor"]


def __getattr__(name):
    # The export command lies in this package, and its --help needs no TensorFlow.
    if name != "Predictor":
        raise AttributeError(f"module 'albert_tf.serving' has no attribute {name!r}")
    from albert_tf.serving.predictor import Predictor

    return Predictor
