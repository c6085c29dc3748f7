"""Compiled functions: captured once per signature, guarded by what they read, then replayed."""
