"""Objectives of training: loss terms, and the objectives of pretraining."""
