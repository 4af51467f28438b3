"""Policies: which events of a stream are kept, so that no private pattern can be put together."""
