"""Gradients of tensors: backward passes, hooks, functions with gradients of a user's own."""
