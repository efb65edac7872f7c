"""The record of a turn, whole: every key and every fact."""

from restante import BusPolicy, MessageBus
from tests.bus.policies import both


@both
def test_a_record_holds_the_policy_the_messages_the_runs_the_report_and_the_books(policy: BusPolicy) -> None:
    now = 10.0
    bus = MessageBus(policy, clock=lambda: now)
    coder, scout, ended = bus.open("coder"), bus.open("scout"), bus.open("coder")
    ended.close("error", error="boom")
    now = 12.5
    scout.send("coder", "hello")
    coder.drain()
    coder.returned(call=4)
    before = bus.record()

    bus.close()

    live = policy.liveness
    owner = "coder#1" if live else None
    fates: list[dict[str, object]] = [
        {"address": owner, "state": "delivered", "reason": None, "call": 4, "obliged": True}
    ]
    if not live:
        fates.append({"address": "coder#1", "state": "delivered", "reason": None, "call": 4, "obliged": False})
    message = {
        "message_id": "m1", "sequence": 1, "sender": "scout#1", "origin": "agent", "to": "coder", "text": "hello",
        "in_reply_to": None, "answer_by_s": None, "at_s": 2.5, "fates": fates,
        "matched": ["coder#1"] if live else ["coder#1", "coder#2"], "not_reached": ["coder#2"] if live else [],
    }  # fmt: skip
    quiet = {"how": None, "error": None, "sent": 0, "read": 0, "moves": 0, "rounds": 0}
    runs = [
        {**quiet, "address": "coder#1", "state": "running" if live else None, "read": 1},
        {**quiet, "address": "scout#1", "state": "running" if live else None, "sent": 1},
        {**quiet, "address": "coder#2", "state": "finished" if live else None, "how": "error", "error": "boom"},
    ]
    books = {"accepted_in_all": 1, "accepted": 0, "claimed": 0, "delivered": 1, "undelivered": 0, "carried": 0}
    open_turn = {"policy": policy.name, "closed": False, "messages": [message], "runs": runs, "report": None}
    assert before == {**open_turn, "books": books}
    over = [{**run, "state": "finished" if live else None} for run in runs]
    report: dict[str, list[object]] = {"unmet": [], "next_turn": []}
    assert bus.record() == {**open_turn, "closed": True, "runs": over, "report": report, "books": books}


@both
def test_what_was_noted_of_a_run_is_counted_in_one_order_whatever_came_first(policy: BusPolicy) -> None:
    bus = MessageBus(policy)
    bus.open("coder")
    for kind in ("tool_call", "ask", "tool_call"):
        bus.note(kind, "coder#1", {})

    (run,) = bus.record()["runs"]

    assert list(run)[-4:] == ["asks", "moves", "rounds", "tool_calls"]
    assert (run["asks"], run["tool_calls"]) == (1, 2)
