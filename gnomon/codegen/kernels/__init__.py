"""Hand-written kernels that claim a region: they write LLVM IR and know nothing of graphs."""
