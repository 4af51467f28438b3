"""The runner in this process: Arrow in, Arrow out, in threads where rows are many."""
