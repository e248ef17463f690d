"""The sides of the benchmarks, each a process of its own.

`main(setting)` of a side returns how it takes a turn, a function from the text of a
request to something that JSON can carry, and details to tell before the first turn.
"""
