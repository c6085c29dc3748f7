"""Meshes and programs over several ranks; how ranks exchange arrays is gnomon/runtime/comm."""
