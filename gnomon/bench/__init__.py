"""`gnomon bench`: the same work by Gnomon and by others, alternately on one machine.

Nothing here is imported by the rest of the package. Peers' programs are in benchmarks/peers and run
in environments of their own.
"""
