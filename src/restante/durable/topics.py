"""Topics: what a commit may wake. A topic hurries whoever waits for it and decides nothing."""


def inbox_topic(inbox_id: str) -> str:
    """Something is new in this inbox."""
    return f"inbox:{inbox_id}"


def mail_topic(owner_id: str) -> str:
    """Something is new in the whole mail of this principal."""
    return f"mail:{owner_id}"


def chat_topic(chat_id: str) -> str:
    """A turn of this chat began, went on or ended."""
    return f"chat:{chat_id}"


LANE = "lane:"
"""What a lane's topic begins with."""


def lane_topic(chat_id: str) -> str:
    """A turn waits in this chat, or the chat has become free for one."""
    return f"{LANE}{chat_id}"
