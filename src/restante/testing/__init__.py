"""For users' own tests: models that follow a script, and a clock that stands still until it is moved."""

from restante.testing.clock import FakeClock
from restante.testing.scripted import Call, ScriptedModel, ScriptEnded, Step, call, calls, fails, says
from restante.testing.scripts import load_script

__all__ = ["Call", "FakeClock", "ScriptEnded", "ScriptedModel", "Step", "call", "calls", "fails", "load_script", "says"]
