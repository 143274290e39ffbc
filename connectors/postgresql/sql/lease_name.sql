-- Gives this session a name.
-- Reads: nothing. Since: 14. Privilege: none. Cost: under a millisecond.
SELECT set_config('application_name', %(name)s::text, false)
