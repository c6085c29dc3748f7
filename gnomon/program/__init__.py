"""A program that can run: its kernels, where their values lie, and what is kept of it."""
