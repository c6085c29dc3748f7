"""Kernel to text: LLVM IR from loops over scalars, and kernels written by hand."""
