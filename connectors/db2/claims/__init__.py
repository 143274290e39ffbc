"""What ``hotplace prove`` makes, asks and compares on Db2."""
