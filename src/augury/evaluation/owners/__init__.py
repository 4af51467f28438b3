"""Owners in doubt: what matches need of them, and which reads decided who it was."""
