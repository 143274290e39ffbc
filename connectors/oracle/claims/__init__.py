"""What ``hotplace prove`` makes, asks and compares on Oracle Database."""
