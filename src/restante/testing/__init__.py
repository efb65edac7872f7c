"""For users' own tests: models that follow a script, a clock that stands still, and a look between any two steps."""

from restante.testing.clock import FakeClock
from restante.testing.scripted import Call, ScriptedModel, ScriptEnded, Step, call, calls, fails, says
from restante.testing.scripts import load_script
from restante.testing.steps import Stepped, cancels, step_by_step

__all__ = [
    "Call", "FakeClock", "ScriptEnded", "ScriptedModel", "Step", "Stepped", "call", "calls", "cancels", "fails",
    "load_script", "says", "step_by_step",
]  # fmt: skip
