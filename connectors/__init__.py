"""What an engine can tell and do.

Read in this order: ``model`` (the vocabulary, as frozen dataclasses), ``kit.contract`` (the Connector and Mover
protocols and the errors), ``kit.registry`` (how an engine is found), then one folder an engine: ``simulated`` first,
``postgresql`` next.
"""
