"""Peers' programs for `gnomon bench`, each run in its own environment; never imported by gnomon.

A function per problem takes gnomon/bench/serve.py's Problem and gives its step.
"""
