"""Every public exception. Each message is one sentence that names the culprit and the way out."""

from __future__ import annotations

from typing import Any


class MetaGymError(Exception):
    """Base of every error that MetaGym raises on purpose."""


class MetaGymWarning(UserWarning):
    """Base of every warning that MetaGym issues."""


class PluginWarning(MetaGymWarning):
    """A plugin could not be loaded; the rest of MetaGym works without it."""


# --- what the caller handed in


class BadInput(MetaGymError, ValueError):
    """An argument, option, file or setting is not usable; nothing was started."""


class SpecError(BadInput):
    """A model spec such as ``openai:<model>`` cannot be read or is unknown."""


class UnknownName(BadInput, LookupError):
    """A family, split, task type or task id does not exist; the message lists what does."""


class NoTasks(BadInput):
    """A task set is empty: data missing, or nothing left after filtering."""


class TasksExhausted(MetaGymError):
    """The stream has fewer unseen tasks left than the batch needs."""


class MissingExtra(MetaGymError, ImportError):
    """An optional dependency is not installed; the message holds the pip command that brings it."""


class BrokenExtra(MetaGymError, ImportError):
    """An optional dependency is installed and fails to import; the message holds its own reason."""


class WrongVersion(MetaGymError, ImportError):
    """An optional dependency is installed in a version that is not supported; the message holds the pip command."""


# --- engines and hosts


class EngineError(MetaGymError):
    """A game engine refused a game or failed while playing it."""


class EngineUnsupported(EngineError):
    """The engine asked for does not model this game; the message says which one does."""


class HostError(MetaGymError):
    """The place where an inner environment lives failed (worker died, cannot be started)."""


class DeadlineExceeded(HostError, TimeoutError):
    """A model call or an environment call ran past its deadline."""


class NodeLost(HostError):
    """The worker that an environment or a program lived on is gone; what was played there can be played again."""


class ClusterError(HostError):
    """A cluster cannot be used: not there, of other versions, or without room; the message names which."""


class BadTransition(MetaGymError, ValueError):
    """An environment returned what is no Gymnasium transition (non-finite reward, non-text observation)."""


class TooManyFailures(MetaGymError):
    """More episodes of a batch failed than the settings allow; the run stopped.

    Attributes:
        episodes: All episodes of the batch, so that nothing played is lost.
    """

    episodes: list[Any] = []


# --- programs that nobody has read


class SandboxError(MetaGymError):
    """Base of what can go wrong with a program in the sandbox."""


class ProgramRejected(SandboxError):
    """The policy refuses a program before any of its code runs.

    Attributes:
        code: The rule, e.g. ``"forbidden_import"``; stable, for counting.
        line: The line of the program, from 1; 0 where the whole source is meant.
        message: What is wrong there and what to write instead, fit to be shown to the program's author.
    """

    def __init__(self, code: str, line: int, message: str) -> None:
        self.code, self.line, self.message = code, line, message
        super().__init__(f"line {line}: {message} [{code}]" if line else f"{message} [{code}]")

    def __reduce__(self) -> Any:
        """Copies and pickles keep the three parts."""
        return type(self), (self.code, self.line, self.message)


class ProgramError(SandboxError):
    """The program itself raised an exception; the message gives its type, text and line, cut to a bounded length."""


class ProgramKilled(SandboxError):
    """The worker of a program was ended.

    Attributes:
        limit: What it ran into: ``"wall"``, ``"cpu"``, ``"memory"``, ``"output"``, ``"syscall"``, ``"steps"`` or
            ``"died"`` (ended for a reason that the system did not tell).
    """

    def __init__(self, limit: str, message: str) -> None:
        self.limit, self.message = limit, message
        super().__init__(message)

    def __reduce__(self) -> Any:
        """Copies and pickles keep both parts."""
        return type(self), (self.limit, self.message)


class BadOutput(SandboxError):
    """A program returned something else than plain, finite, bounded data of the expected shape."""


class SandboxUnavailable(SandboxError):
    """A layer of the sandbox that the settings require is missing or does not hold here; no program was run.

    Attributes:
        layer: ``"fork"``, ``"rlimit"``, ``"seccomp"``, ``"landlock"``, ``"policy"`` or ``"selftest"``.
    """

    def __init__(self, layer: str, message: str) -> None:
        self.layer, self.message = layer, message
        super().__init__(f"{layer}: {message}")

    def __reduce__(self) -> Any:
        """Copies and pickles keep both parts."""
        return type(self), (self.layer, self.message)


# --- search


class SearchError(MetaGymError):
    """A search failed: the server refused it or answered in no form that the protocol has."""


class SearchUnavailable(SearchError):
    """The search server could not be reached, hung, or answered 5xx after the last retry."""


# --- models


class ChatError(MetaGymError):
    """A model call failed for good (after the retries that the settings allow).

    Attributes:
        retry_after: Seconds that the server asked to wait before another try; None where it did not say.
        attempts: Requests that were made for the call.
    """

    retry_after: float | None = None
    attempts: int = 1


class RateLimited(ChatError):
    """The server still answered 429 after the last retry."""


class ServerUnavailable(ChatError):
    """The server could not be reached, hung, or answered 5xx after the last retry.

    Attributes:
        connection: Whether there was no connection, or it broke: another server may be asked at once.
    """

    connection: bool = False


class ContextOverflow(ChatError):
    """The conversation does not fit the model's context window; the episode ends truncated."""


class BudgetExceeded(ChatError):
    """The next call would pass the hard budget of calls, tokens or money; it was not made."""


class CacheMiss(ChatError):
    """Replay-only mode met a request whose reply is not on disk."""


# --- servers of a training run


class ServerError(MetaGymError):
    """A server that a run owns or needs did not start, died, or does not serve what is needed; the message says why."""


# --- stores and runs


class StoreError(MetaGymError):
    """A file that MetaGym owns cannot be read or written (locked, unreadable, disk full)."""


class StoreCorrupt(StoreError):
    """A stored record is damaged in the middle of a file; the message names file and line."""


class StoreLocked(StoreError):
    """Another process is writing to this store."""


class BankReadOnly(StoreError):
    """A skill bank that was opened for reading (evaluation does so) is asked to change."""


class EmbedderMismatch(StoreError):
    """A skill bank was made with another embedder; the message names both."""


class DeniedCard(BadInput):
    """A skill card comes from a question that is kept for evaluation; it was not stored."""


class RunError(MetaGymError):
    """A run folder is not what the command needs (in use, of another configuration, not a run)."""
