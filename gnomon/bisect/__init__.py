"""`gnomon bisect`: which optimisation, which application of it, or which commit changed a script.

Every optimisation keeps every bit but `claim`, for attention's definition, so two runs are compared
by a hash. Runs are processes of their own, without caches.
"""
