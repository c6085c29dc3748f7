"""Graph to kernels: what is stored, what is fused, where buffers live, in which order all runs."""
