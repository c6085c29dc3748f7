"""What benchmarks/gpu.py measures: needs numpy and the driver alone, but for bundle.py."""
