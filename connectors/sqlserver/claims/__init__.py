"""What ``hotplace lab prove`` makes, asks and compares on SQL Server."""
