"""Rules that act: tables that matches read and rules write, one moment after another.

`plan` is what is done, `contents` a table's rows, `reading` what a match may look at, `stage` the
order of the world. No runner and no language is known here: conditions and values are functions.
"""
