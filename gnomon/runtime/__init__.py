"""From IR text to a running program: compiling, linking, memory, threads, one call per run.

What a program computes is decided above; here are only addresses, sizes and calls.
"""
