"""Measurements that are run by hand, and the programs of peers for `gnomon bench`."""
