"""SavedModels that take raw text, and a client for them."""

from albert_tf.serving.predictor import Predictor

__all__ = ["Predictor"]
