"""What can be computed: scalar functions, primitives, and the operations composed of them."""
