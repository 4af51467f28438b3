"""Policies: what they may name, which types they may not suppress, who may read what."""
