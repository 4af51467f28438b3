"""Kernels of policies: what an event gains and costs, over prefixes that are summed up."""
