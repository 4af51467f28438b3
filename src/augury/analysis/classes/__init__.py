"""The class of a query: what its answer costs, and the plans of safe ones."""
