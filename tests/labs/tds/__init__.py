"""An emulated server: the TDS 7.4 wire protocol, with nothing behind it but a ``Backend``."""
