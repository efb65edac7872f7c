-- Times are milliseconds since the epoch. Ids are texts. A sequence is a number of the whole store.

CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    store_id TEXT NOT NULL,
    schema_version INTEGER NOT NULL,
    sequence BIGINT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE agents (
    agent_id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    folded TEXT NOT NULL UNIQUE,
    messaging INTEGER NOT NULL,
    archived_at BIGINT,
    created_at BIGINT NOT NULL
);

CREATE TABLE principals (
    principal_id TEXT PRIMARY KEY,
    label TEXT NOT NULL,
    folded TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE tokens (
    token_id TEXT PRIMARY KEY,
    principal_id TEXT NOT NULL REFERENCES principals (principal_id),
    digest TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);

CREATE TABLE chats (
    chat_id TEXT PRIMARY KEY,
    agent_id TEXT NOT NULL REFERENCES agents (agent_id),
    purpose TEXT NOT NULL CHECK (purpose IN ('person', 'messages')),
    sequence BIGINT NOT NULL UNIQUE,
    waiting INTEGER NOT NULL DEFAULT 0,
    last_read_at BIGINT,
    last_activity_at BIGINT,
    history TEXT,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX chats_of_messages ON chats (agent_id) WHERE purpose = 'messages';

CREATE TABLE conversations (
    conversation_id TEXT PRIMARY KEY,
    messages INTEGER NOT NULL DEFAULT 0,
    created_at BIGINT NOT NULL
);

CREATE TABLE inboxes (
    inbox_id TEXT PRIMARY KEY,
    conversation_id TEXT NOT NULL REFERENCES conversations (conversation_id),
    peer_id TEXT NOT NULL,
    owner_kind TEXT NOT NULL CHECK (owner_kind IN ('agent', 'principal')),
    owner_id TEXT NOT NULL,
    chat_id TEXT REFERENCES chats (chat_id),
    stored INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX inboxes_of_chat ON inboxes (chat_id);

CREATE TABLE turns (
    turn_id TEXT PRIMARY KEY,
    chat_id TEXT NOT NULL REFERENCES chats (chat_id),
    sequence BIGINT NOT NULL,
    state TEXT NOT NULL,
    queued_at BIGINT NOT NULL,
    started_at BIGINT,
    ended_at BIGINT,
    answer TEXT,
    error TEXT,
    report TEXT
);
CREATE INDEX turns_of_chat ON turns (chat_id, sequence);
CREATE INDEX turns_waiting ON turns (chat_id, sequence) WHERE state = 'queued';
CREATE UNIQUE INDEX turns_running ON turns (chat_id) WHERE state = 'running';

CREATE TABLE messages (
    sequence INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL REFERENCES conversations (conversation_id),
    place INTEGER NOT NULL,
    from_inbox TEXT NOT NULL REFERENCES inboxes (inbox_id),
    to_inbox TEXT NOT NULL REFERENCES inboxes (inbox_id),
    sender_id TEXT NOT NULL,
    recipient_id TEXT NOT NULL,
    text TEXT NOT NULL,
    in_reply_to TEXT,
    submission_id TEXT,
    state TEXT NOT NULL,
    reason TEXT,
    turn_id TEXT REFERENCES turns (turn_id),
    accepted_at BIGINT NOT NULL,
    queued_at BIGINT,
    started_at BIGINT,
    read_at BIGINT,
    ended_at BIGINT
);
CREATE INDEX messages_to_inbox ON messages (to_inbox, sequence);
CREATE INDEX messages_to_recipient ON messages (recipient_id, sequence);
CREATE INDEX messages_from_sender ON messages (sender_id, sequence);
CREATE INDEX messages_by_time ON messages (conversation_id, accepted_at, place);
CREATE INDEX messages_of_turn ON messages (turn_id) WHERE turn_id IS NOT NULL;

CREATE TABLE submissions (
    sender TEXT NOT NULL,
    place TEXT NOT NULL,
    submission_id TEXT NOT NULL,
    digest TEXT NOT NULL,
    message_id TEXT NOT NULL REFERENCES messages (message_id),
    PRIMARY KEY (sender, submission_id, place)
);

CREATE TABLE words (
    sequence INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL UNIQUE,
    chat_id TEXT NOT NULL REFERENCES chats (chat_id),
    turn_id TEXT NOT NULL REFERENCES turns (turn_id),
    text TEXT NOT NULL,
    state TEXT NOT NULL,
    began INTEGER NOT NULL,
    carried INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    said_at BIGINT NOT NULL,
    read_at BIGINT
);
CREATE INDEX words_of_turn ON words (turn_id, sequence);

CREATE TABLE journal (
    sequence INTEGER PRIMARY KEY,
    turn_id TEXT NOT NULL REFERENCES turns (turn_id),
    chat_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    at_s REAL NOT NULL,
    kind TEXT NOT NULL,
    address TEXT,
    facts TEXT NOT NULL
);
CREATE INDEX journal_of_chat ON journal (chat_id, sequence);
CREATE UNIQUE INDEX journal_of_turn ON journal (turn_id, number);
