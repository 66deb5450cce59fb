"""Runs as tasks of a Ray cluster. What they compute comes back as data, and this process stores it."""

from __future__ import annotations

import logging
import socket
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from pubench_study.executors import Wanted
from pubench_study.task import Ended, Orders, Progressed, RunTask, Status, ended_with, plan_of

from pubench_core.errors import PubenchError, RecordError, RequestError, RunTaken, said_by, shortened
from pubench_core.records.store import RecordStore
from pubench_core.results import Environment, Failure

#: Seconds that an address has to answer.
_PATIENCE = 10.0


def pool(wanted: Wanted) -> RayPool:
    """The executor ``ray``."""
    return RayPool.connect(wanted.address, len(wanted.devices), wanted.orders, gpus=wanted.gpus)


def remotely(task: RunTask) -> Any:
    """Outcome of a task as data: a Finished, a Failure, or the text of a refusal."""
    import torch

    from pubench_core.data.dataset import data_root
    from pubench_core.engine.compute import Audience
    from pubench_core.engine.execute import Failed, attempt
    from pubench_core.engine.machine import captured, choose_device

    if task.execution["threads"] is not None:
        torch.set_num_threads(task.execution["threads"])
    try:
        plan = plan_of(task)
        device = choose_device(plan)
        done = attempt(plan, data_root(plan.spec.execution), device, captured(plan, device), Audience())
    except PubenchError as error:  # by its text: not every exception can travel
        return str(error)
    return (
        done.failure
        if isinstance(done, Failed)
        else replace(done, result=done.result.model_copy(update={"at_once": task.at_once}))
    )


@dataclass
class RayPool:
    """Tasks of one cluster. ``size``: how many are submitted at once; ``gpus``: share of a GPU that each takes."""

    ray: Any
    size: int
    orders: Orders
    store: RecordStore
    gpus: float
    environment: Environment | None = None
    _function: Any = None
    _tasks: dict[Any, tuple[RunTask, ExitStack]] = field(default_factory=dict)
    _ended: list[Ended] = field(default_factory=list)
    _ours: bool = True

    @classmethod
    def connect(cls, address: str | None, size: int, orders: Orders, *, gpus: float = 0.0) -> RayPool:
        """Connects to a cluster, or starts one on this machine.

        Raises RequestError if the address does not answer.
        """
        if address is not None:
            _refuse_silent(address)
        import ray
        import torch

        from pubench_core.engine.machine import capture

        joined = ray.is_initialized()
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
        if address is None:
            options["num_cpus"] = size * orders.threads
        try:
            if not joined:
                ray.init(address=address, **options)
        # Ray raises plain Exceptions when a cluster does not start.
        except Exception as error:
            raise RequestError(f"no Ray cluster answers at {address or 'this machine'}: {said_by(error)}") from error
        function = ray.remote(num_cpus=orders.threads, num_gpus=gpus, max_retries=1)(remotely)
        here = capture(torch.device("cpu"))
        return cls(ray, size, orders, RecordStore(orders.results), gpus, here, function, _ours=not joined)

    @property
    def in_work(self) -> list[RunTask]:
        """Tasks that were taken and have not ended."""
        return [task for task, _ in self._tasks.values()]

    def submit(self, task: RunTask) -> None:
        """Claims a run and sends it to the cluster, unless a record answers it by now."""
        from pubench_core.data.dataset import data_root
        from pubench_core.engine.coverage import covered
        from pubench_core.engine.plan import Plan

        device = "cuda" if self.gpus else "cpu"
        task = replace(task, execution=self.orders.execution(device))
        claim = ExitStack()
        try:
            claim.enter_context(self.store.claim(task.run_id, wait=False))
            plan = plan_of(task)
            found = covered(plan, self.store, data_root(plan.spec.execution))
            if not isinstance(found, Plan):
                claim.close()
                self._ended.append(ended_with(found.result, "found"))
                return
            task = replace(task, spec=found.spec.model_dump(mode="json"))
            self._tasks[self._function.remote(task)] = (task, claim)
        except RunTaken as error:
            self._end(task, claim, "taken", str(error))
        except RequestError as error:
            self._end(task, claim, "refused", str(error))

    def _end(self, task: RunTask, claim: ExitStack, status: Status, text: str) -> None:
        claim.close()
        self._ended.append(Ended(task.run_id, status, text, "refused" if status == "refused" else None))

    def events(self, timeout: float) -> list[Ended | Progressed]:
        """Events since the last call; waits up to ``timeout`` seconds for the first."""
        ready, _ = self.ray.wait(list(self._tasks), num_returns=1, timeout=timeout) if self._tasks else ([], [])
        for reference in ready:
            task, claim = self._tasks.pop(reference)
            with claim:
                self._ended.append(self._stored(task, reference))
        found, self._ended = list(self._ended), []
        return [*found]

    def _stored(self, task: RunTask, reference: Any) -> Ended:
        """Stores what came back."""
        from pubench_core.engine.publish import publish

        try:
            done = self.ray.get(reference)
        except self.ray.exceptions.RayError as error:
            return Ended(task.run_id, "died", shortened(said_by(error), 300), "worker-died")
        if isinstance(done, str):
            return Ended(task.run_id, "refused", done, "refused")
        try:
            if isinstance(done, Failure):
                folder = self.store.write_failure(done)
                return Ended(task.run_id, "failed", f"{done.reason}; failure record {folder}", done.cause)
            return ended_with(publish(self.store, done).result, "finished")
        except RecordError as error:
            return Ended(task.run_id, "unstored", str(error))

    def fewer(self, run_id: str) -> bool:
        """Ray decides what shares a GPU."""
        return False

    def close(self, *, abandon: bool = False) -> None:
        """Gives up what is in work, and the cluster where it was started here."""
        for reference, (_, claim) in self._tasks.items():
            self.ray.cancel(reference, force=True)
            claim.close()
        self._tasks.clear()
        if self._ours:
            self.ray.shutdown()


def _refuse_silent(address: str) -> None:
    """RequestError for an address where nothing listens; Ray itself would try for minutes."""
    place = address.removeprefix("ray://")
    host, colon, port = place.rpartition(":")
    if address == "auto":
        return
    if not colon or not port.isdigit():
        raise RequestError(f"Ray address must be HOST:PORT, ray://HOST:PORT or auto, got {shortened(address)}")
    try:
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise RequestError(f"no Ray cluster answers at {shortened(address)}: {error}") from error
