"""The layers of ALBERT, written with `keras.ops` so that they run on any backend.

Shape letters: B batch, T tokens, P predictions, N heads, D head size, H hidden,
I intermediate, E embedding, V vocabulary, L labels.
"""
