"""An emulated server: what SQL Server documents of its catalog and DMVs, over a small model of storage."""
