"""How rows may be cut into parts that are evaluated apart, and what moving them costs."""
