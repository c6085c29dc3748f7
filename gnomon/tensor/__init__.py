"""Tensors: lazy values with views and mutation, backward passes, and the ways in and out."""
