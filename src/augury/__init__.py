"""augury: complex events over streams that cannot be fully trusted."""
