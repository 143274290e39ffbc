-- The least and the greatest value of one column in each of a few neighbouring blocks, as text and as numbers.
-- Reads: the named column of the named table: user data, only where border_values is on. Since: 14 (TID range scans).
-- Privilege: SELECT on the column and on ctid. Cost: so many blocks are read.
SELECT (ctid::text::point)[0]::bigint AS block,
       min({column})::text AS least,
       max({column})::text AS greatest,
       min({column})::float8 AS least_number,
       max({column})::float8 AS greatest_number
  FROM ONLY {table}
 WHERE ctid >= %(first)s::tid
   AND ctid < %(behind)s::tid
   AND {column} IS NOT NULL
 GROUP BY 1
 ORDER BY 1
