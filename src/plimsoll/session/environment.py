"""Recording where a session runs and who owns it: on creation, and again when it changes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from plimsoll.environment.activity import tool_context, topics
from plimsoll.environment.layers import (
    ContextLayers,
    ContextMetadata,
    ConversationContext,
    priorities_of,
    session_of,
    system_of,
    workspace_of,
)
from plimsoll.environment.layers_text import context_text, relevance_scores
from plimsoll.environment.workspace import project_folder, system_context, workspace_context
from plimsoll.errors import FormatError, LimitExceeded, SettingError
from plimsoll.formats.wire import copied
from plimsoll.light.dataclass import asdict, replace
from plimsoll.limits import ACTIVITY_MESSAGES_MAX
from plimsoll.policy.validation import integer, short_repr
from plimsoll.records.compactions import session_record
from plimsoll.session.recorder import SessionRecorder

Project = str | os.PathLike[str] | bool | None
"""A project's folder; True for the current one; False to record nothing about project and computer. None is False, but updates a
session that has recorded them already.
"""


def surroundings(
    project: Project,
    user_id: str | None,
    agent_id: str | None,
    preferences: Mapping[str, Any] | None,
    configuration: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The current context, JSON-ready, without values that were not given. Raises SettingError for values that are not JSON.

    The computer and the folder are examined only if a project is asked for, since a log may be shared.
    """
    owners = {"user_id": user_id, "agent_id": agent_id}
    for name, owner in owners.items():
        if owner is not None and not isinstance(owner, str):
            raise SettingError(name, f"text is needed, not {short_repr(owner)}")
    found = _around(project)
    given = {
        "preferences": _object("preferences", preferences),
        "configuration": _object("configuration", configuration),
    }
    found |= {name: value for name, value in {**owners, **given}.items() if value is not None}
    return dict(json.loads(json.dumps(found)))  # in the form in which it will be read back


def _around(project: Project) -> dict[str, Any]:
    """The computer and the project, if asked for."""
    if project is None or project is False:
        return {}
    if project is True:
        return {"system": asdict(system_context()), "workspace": asdict(workspace_context())}
    if not isinstance(project, (str, os.PathLike)):
        raise SettingError("project", f"a folder, True or False is needed, not {short_repr(project)}")
    folder = str(project_folder(project))
    return {"system": asdict(system_context()), "workspace": asdict(workspace_context(folder)), "project": folder}


def _object(field: str, value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise SettingError(field, f"an object is needed, not {short_repr(value)}")
    try:
        found = copied(value)
        json.dumps(found, allow_nan=False)
    except (FormatError, LimitExceeded, ValueError) as error:
        raise SettingError(field, str(error)) from error
    return found


def recorded(recorder: SessionRecorder) -> dict[str, Any]:
    """The recorded context: the newest note about it, else the session record."""
    seq = recorder.state.facts.context
    record = next(recorder.log.read(seq or 0), None)
    if record is None or record.seq != (seq or 0):
        return {}
    found = record.data.get("context")
    return dict(found) if isinstance(found, Mapping) else {}


def keep(recorder: SessionRecorder, now: Mapping[str, Any], project: Project, title: str | None) -> None:
    """Record what has changed, unless the session is only read. A project that was named once stays until another one is named."""
    if not recorder.log.writable:
        return
    before = recorded(recorder)
    if "workspace" in before and (project is None or project is True):
        named = before.get("project")
        now = {**now, **_around(named if isinstance(named, str) else True)}
    after = {**before, **json.loads(json.dumps(now))}
    if after != before:
        recorder.note({"what": "context", "context": after})
    if title is not None and title != _title(recorder):
        recorder.note({"what": "title", "title": title})


def _title(recorder: SessionRecorder) -> str | None:
    """The last title."""
    first = session_record(recorder.log)
    made = None if first is None else first.data.get("title")
    return recorder.state.facts.title or (made if isinstance(made, str) else None)


def layers(recorder: SessionRecorder, *, query: str | None = None, priorities: object = None) -> ContextLayers:
    """All layers: the recorded ones, and those computed from the newest messages. Raises SettingError."""
    if query is not None and not isinstance(query, str):
        raise SettingError("query", "must be text")
    data, log = recorded(recorder), recorder.log
    records = list(recorder.state.history.messages(log.messages - ACTIVITY_MESSAGES_MAX))
    decode = recorder.meter.format.decode
    newest = [(record.at_ms, decode(record.data["m"], record.position)) for record in records]
    first = session_record(log)
    found = ContextLayers(
        system=system_of(data.get("system")),
        session=session_of(
            data,
            session_id=log.name,
            start_ms=first.at_ms if first else None,
            made={**(first.data if first else {}), **({"title": title} if (title := _title(recorder)) else {})},
        ),
        conversation=ConversationContext(
            messages=log.messages, topics=topics(newest), last_activity_ms=newest[-1][0] if newest else None
        ),
        tool=tool_context(newest),
        workspace=workspace_of(data.get("workspace")),
        metadata=ContextMetadata(
            total_tokens=recorder.total(),
            budget_tokens=recorder.meter.budget.tokens,
            last_updated_ms=next((record.at_ms for record in log.read_back()), None),
            priority=priorities_of(priorities),
        ),
    )
    if query is None:
        return found
    return replace(found, metadata=replace(found.metadata, relevance_score=relevance_scores(found, query)))


def layers_text(
    recorder: SessionRecorder, max_tokens: int, *, query: str | None = None, priorities: object = None
) -> str:
    """The layers as text within `max_tokens`. Raises SettingError."""
    integer("max_tokens", max_tokens)
    found = layers(recorder, query=query, priorities=priorities)
    return context_text(found, tokens_max=max_tokens, counter=recorder.meter.counter)
