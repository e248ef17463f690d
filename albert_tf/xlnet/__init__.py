"""XLNet: two streams, relative positions and a memory; also with shared layers."""
