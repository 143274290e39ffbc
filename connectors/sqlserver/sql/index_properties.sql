-- Extended properties of the indexes of one object; whether a rebuild with DROP_EXISTING keeps them is not documented.
-- Reads: sys.extended_properties. Since: 2012. Privilege: VIEW ANY DEFINITION. Cost: under a millisecond.
SELECT CONVERT(int, p.minor_id) AS index_id,
       p.name AS property_name,
       TRY_CONVERT(nvarchar(200), p.value) AS property_value
  FROM sys.extended_properties AS p
 WHERE p.class = 7
   AND p.major_id = CONVERT(int, ?)
