"""Heat inside a unit: which of its blocks its reads go to, worked out from looks at the buffer pool.

``turnover`` compares two looks, ``range_heat`` remembers what looks showed, ``concentration`` says how few blocks take
most of the reads and whether they lie together.
"""
