"""The backend "cuda": kernels as PTX, memory of a card, programs as launches.

Kernels are those of the CPU, behind a wrapper that gives each CUDA thread its number and its part
of the scratch memory: a split of the work is part of every kernel, and barriers stand between
calls, which are launches of one stream. Nothing but the driver's library is needed.
"""
