"""Inference on texts with pretrained models: masked tokens and minimal pairs."""
