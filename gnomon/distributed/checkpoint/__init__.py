"""Tensors on the disk, whatever ranks they were divided over: files, parts, sums of elements."""
