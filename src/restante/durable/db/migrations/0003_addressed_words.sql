-- A person's words may be for one run or one kind of run of the turn alone. NULL: for everyone.

ALTER TABLE words ADD COLUMN addressed TEXT;
