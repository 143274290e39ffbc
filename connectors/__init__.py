"""What an engine can tell and do.

Read in this order: ``model`` (the vocabulary, as frozen dataclasses), ``base`` (the Connector and Mover protocols and
the errors), ``registry`` (how an engine is found), then one folder an engine: ``simulated`` first, ``postgresql`` next.
"""
