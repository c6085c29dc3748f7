"""Training a language model: configuration, corpus, loop, checkpoints, figures.

The command line over it is gnomon/commands.py.
"""
