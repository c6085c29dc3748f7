"""The intermediate representation: nodes, graphs, their provenance, rewriting and printing."""
