"""The instruction set of the predicate machine: shared by the assembler and the interpreter.

An instruction is `WIDTH` words: opcode, a, b. Values are int64 words on a stack (a DOUBLE is its
bits) with a null flag each; suffix I works on integers, F on floats. Families are ranges of
opcodes. A program that would need more than `STACK_DEPTH` words is refused.

| family | operands | effect |
|---|---|---|
| PUSH | a: the word itself | push a constant |
| LOAD | a: slot | push what the slot holds |
| jumps | a: words from the program's start, b: slot | see below |
| comparison, logic, arithmetic | none | pop two, push the result |
| conversions | none | replace the top |
| MEMBER | a: where the table is | pop a row, push whether the table has it |
"""

from __future__ import annotations

WIDTH = 3
STACK_DEPTH = 64

# What a slot holds of its component: an attribute of one item, or a value over all items.
EACH, PREVIOUS, NUMBER, LAST, COUNT, SUM, AVG, MIN, MAX = range(9)
# Added to the kind of a value over all items: over those up to the current one.
RUNNING = 16

PUSH, PUSH_NULL, LOAD, MEMBER = 0, 1, 2, 3

# JUMP_IF_ZERO looks at slot b; JUMP_UNLESS pops. KEEP_... jump with the top kept if it is FALSE,
# TRUE or not NULL; KEEP_IF_VALUE pops a NULL.
JUMP, JUMP_IF_ZERO, JUMP_UNLESS = 4, 5, 6
KEEP_IF_FALSE, KEEP_IF_TRUE, KEEP_IF_VALUE = 7, 8, 9

# Comparison: NaN equals NaN and is the largest; -0.0 equals 0.0.
COMPARISONS = 10
EQUAL_I, LESS_I, LESS_EQUAL_I = 10, 11, 12
EQUAL_F, LESS_F, LESS_EQUAL_F = 13, 14, 15

LOGIC = 20
AND, OR = 20, 21

# Arithmetic: NULL on overflow and on zero divisors.
ADD_I, SUBTRACT_I, MULTIPLY_I, MODULO_I = 30, 31, 32, 33

FLOATS = 40
ADD_F, SUBTRACT_F, MULTIPLY_F, DIVIDE_F, MODULO_F, POWER = 40, 41, 42, 43, 44, 45

# The lesser or greater of two values; NULLs are passed over.
LEAST_I, GREATEST_I, LEAST_F, GREATEST_F = 50, 51, 52, 53

# One operand. SETTLE gives equal floats equal bits.
CONVERSIONS = 60
NOT, IS_NULL, NEGATE_I, ABS_I, FLOAT_OF_I, TRUTH_OF_I = 60, 61, 62, 63, 64, 65
MOMENT_OF_DATE, DATE_OF_MOMENT = 66, 67
OF_FLOATS = 70
NEGATE_F, ABS_F, TRUTH_OF_F, WHOLE_OF_F, FLOOR, CEIL = 70, 71, 72, 73, 74, 75
SQRT, EXP, LN, SETTLE = 76, 77, 78, 79
