"""What ``hotplace prove`` makes, asks and compares on SQL Server."""
