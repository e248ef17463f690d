"""Predictions against right answers: the figures and mistakes of SQuAD's scripts."""
