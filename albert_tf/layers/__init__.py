"""The layers of ALBERT, written with `keras.ops` so that any backend runs them.

Shape letters: B batch, T tokens, P predictions, N heads, D head size, H hidden,
I intermediate, E embedding, V vocabulary, L labels.
"""
