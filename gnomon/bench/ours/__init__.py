"""The workloads as a user of Gnomon would write them: a function per problem, public names only."""
