"""Scalar expressions, compiled three ways from one typed tree.

`typed` lowers a checked expression: types are explicit, sugar is gone. `spark_sql` renders it for
Catalyst, `arrow` evaluates it over columns, `program` assembles it for the kernel's stack machine.
All three mean the same; tests/planning/plain.py is the obvious fourth that they are held against.

What it means, wherever Spark SQL leaves a choice: division and remainder by zero, integer overflow
and casts that do not fit give NULL, and nothing is ever raised; NaN equals NaN and is larger than
every number; -0.0 equals 0.0; LONG meets DOUBLE as DOUBLE; strings compare by code point;
timestamps are microseconds since 1970 in UTC, dates are days, intervals are microseconds.
"""
