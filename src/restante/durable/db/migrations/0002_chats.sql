-- A chat has a title and a place among the others; what a model has read and said is kept with the turn that added it.

ALTER TABLE chats ADD COLUMN title TEXT;
ALTER TABLE chats ADD COLUMN activity BIGINT NOT NULL DEFAULT 0;
UPDATE chats SET activity = COALESCE(
    (SELECT MAX(j.sequence) FROM journal j WHERE j.chat_id = chats.chat_id),
    sequence
);
CREATE INDEX chats_by_activity ON chats (activity);

ALTER TABLE turns ADD COLUMN history TEXT;
ALTER TABLE turns ADD COLUMN history_is_whole INTEGER NOT NULL DEFAULT 0;
UPDATE turns SET
    history = (SELECT c.history FROM chats c WHERE c.chat_id = turns.chat_id),
    history_is_whole = 1
WHERE state = 'ended_ok' AND sequence = (
    SELECT MAX(t.sequence) FROM turns t WHERE t.chat_id = turns.chat_id AND t.state = 'ended_ok'
);
ALTER TABLE chats DROP COLUMN history;

CREATE INDEX words_of_chat ON words (chat_id, sequence);
