"""XLNet: two streams, relative positions, a memory and optionally shared layers."""
