-- How many rows of one table fulfil a condition, as the planner estimates them from its statistics. It reads no row.
-- Reads: statistics of the table, and perhaps the last entry of an index. Since: 14.
-- Privilege: SELECT on the column of the condition. Cost: under a millisecond.
EXPLAIN (FORMAT JSON) SELECT FROM {table} WHERE {condition}
