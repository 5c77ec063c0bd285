-- An approval carries a code over what it approves, made with a key that is not kept here:
-- whoever can only write to this database can approve nothing. Those of before have none.
ALTER TABLE approval ADD COLUMN code BLOB NOT NULL DEFAULT x'0000000000000000000000000000000000000000000000000000000000000000' CHECK (length(code) = 32);
