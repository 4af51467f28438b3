"""Stores: databases in which tables lie that rules write.

`place` is where one is and how it is asked, `layout` what its tables look like, `store` what is
read from it and written to it. What acts, and when, is not known here.
"""
