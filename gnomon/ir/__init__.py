"""What a program is: nodes, graphs, where they came from, and how they are rewritten and shown."""
