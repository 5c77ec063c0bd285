-- The view of each typed table, which shows bytes as text. NULL until it is made.
ALTER TABLE event_table ADD COLUMN view_name TEXT;
