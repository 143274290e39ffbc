-- Compares a unique index with its rows; fails where the index is damaged, or two of its rows are equal and both visible.
-- Reads: bt_index_check, that is the whole index, and the rows of entries that are equal. Since: 17, with amcheck 1.4.
-- Privilege: EXECUTE on the function. Locks: ACCESS SHARE on the index and its table. Cost: that of a scan of the index.
SELECT extension_schema.bt_index_check(
           index => %(index)s::bigint::oid::regclass, heapallindexed => false, checkunique => true
       )
