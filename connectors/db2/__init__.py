"""IBM Db2 for Linux, UNIX and Windows, through IBM's driver."""
