-- The databases of a team, in place of those that it had; a role is made where there is none of its name.
--
-- Run by: who runs grants.sql, after it. Cost: some rows.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = @team_text@) THEN
        CREATE ROLE @team@ NOLOGIN;
    END IF;
END $$;
BEGIN;
DELETE FROM "@schema@".teams WHERE team = @team_text@;
INSERT INTO "@schema@".teams (team, database) SELECT @team_text@, unnest(ARRAY[@databases@]);
COMMIT;
