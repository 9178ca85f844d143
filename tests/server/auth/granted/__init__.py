"""How the granted objects of each noun are made and called, for `test_granted_objects`.

A module has `OBJECTS`, which for a class names what returns its objects for a grant, and `CALLS`, which for each public
method (`Class.method`) names what calls it. Properties are read without being listed.
"""
