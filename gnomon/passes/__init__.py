"""Graph to graph: differentiation, inlining, simplification, sharding."""
