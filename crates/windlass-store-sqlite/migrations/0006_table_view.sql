-- The view of each typed table, which shows bytes and amounts as text. NULL until it is made.
ALTER TABLE event_table ADD COLUMN view_name TEXT;
