"""The agents of the demo: scripted models, with everything else as it is in earnest."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

from pydantic_ai import Agent
from pydantic_ai.models import Model

from restante.bus.policy import BusPolicy
from restante.running.agents import Hosted
from restante.running.config import AgentConfig, Config
from restante.testing.scripted import REPLY_ADDRESS, ScriptedModel, call, calls, says
from restante.turn import asking_tools, messaging_tools

Sleep = Callable[[float], Awaitable[None]]

ENTRY = "assistant"
CLERK = "clerk"
RESEARCHER = "researcher"


def cast_of(sleep: Sleep) -> Mapping[str, Hosted]:
    """The hosted agents: the assistant, who spawns researchers, and the clerk, who answers clients."""
    researcher = _agent(_researchers(sleep))
    return MappingProxyType(
        {
            ENTRY: _hosted(ENTRY, _agent(_assistants(sleep)), {RESEARCHER: researcher}),
            CLERK: _hosted(CLERK, Agent(_clerk(sleep)), {}),
        }
    )


def config_of(policy: BusPolicy) -> Config:
    """The configuration that goes with the cast."""
    names = (ENTRY, CLERK)
    return Config(policy=policy, entry=ENTRY, agents=MappingProxyType({name: AgentConfig(name=name) for name in names}))


def _assistants(sleep: Sleep) -> Model:
    """The assistant of each of the first three scenes."""
    two_at_once = (
        calls(
            call("spawn", agent=RESEARCHER, task="Find the answer and tell everyone."),
            call("spawn", agent=RESEARCHER, task="Look around until somebody knows the answer."),
        ),
        says("Both researchers report 42.", seconds=0.8),
    )
    thanks_too_late = (
        calls(call("spawn", agent=RESEARCHER, task="Name three citrus fruits.")),
        calls(
            call("send_message", to="researcher#1", text="Thank you for the fruits!"),
            call("send_message", to="everyone", text="Does anybody know a fourth?"),
            seconds=0.8,
        ),
        says("Orange, lemon, lime. I thanked the researcher.", seconds=0.8),
    )
    workers = ["researcher#1", "researcher#2"]
    redirect = (
        calls(
            call("spawn", agent=RESEARCHER, task="Date the map.", background=True),
            call("spawn", agent=RESEARCHER, task="Date the map by its ink.", background=True),
        ),
        calls(call("await_workers", addresses=workers), seconds=0.6),
        calls(
            call("send_message", to="researcher#1", text="The paper: it is from 1612."),
            call("send_message", to="researcher#2", text="Leave the ink: who drew it?"),
            seconds=0.8,
        ),
        calls(call("await_workers", addresses=workers), seconds=0.6),
        says("The map was drawn in 1612, by Hessel.", seconds=0.8),
    )
    return ScriptedModel.of_runs(two_at_once, thanks_too_late, redirect, sleep=sleep)


def _researchers(sleep: Sleep) -> Model:
    """The two researchers of the first scene, then that of the second, then the two of the third."""
    finds = (
        calls(call("send_message", to="everyone", text="the answer is 42"), seconds=1.0),
        says("I told everyone that the answer is 42.", seconds=0.8),
    )
    looks = (
        calls(call("list_agents"), seconds=1.4),
        says("researcher#1 wrote to me that the answer is 42.", seconds=1.2),
    )
    names = (says("Orange, lemon, lime.", seconds=0.8),)
    asks = (
        calls(call("ask", to=ENTRY, text="Paper or ink: which is right?"), seconds=1.0),
        says("1612, by its paper.", seconds=1.0),
    )
    is_redirected = (
        calls(call("list_agents"), seconds=3.4),
        says("Hessel drew it.", seconds=1.0),
    )
    return ScriptedModel.of_runs(finds, looks, names, asks, is_redirected, sleep=sleep)


def _clerk(sleep: Sleep) -> Model:
    """Answers by the message tool, at the address that came with the message; what it says at last goes nowhere."""
    answer = call("messages", action="send", inbox_id=REPLY_ADDRESS, message="Parcel 17 is in Lisbon.")
    return ScriptedModel(calls(answer, seconds=0.8), says("Answered."), sleep=sleep)


def _agent(model: Model) -> Agent:
    return Agent(model, toolsets=[messaging_tools(), asking_tools()])


def _hosted(name: str, agent: Agent, delegates: Mapping[str, Agent]) -> Hosted:
    return Hosted(name=name, description="", agent=agent, delegates=delegates, rounds=None, free_text_ask=True)
