"""Session files of other tools: Claude Code, Codex and pi, found, read and written."""

from plimsoll.transcripts.detect import detect_file, load_file
from plimsoll.transcripts.discover import SessionFile, discover
from plimsoll.transcripts.export import write
from plimsoll.transcripts.values import (
    Conversation,
    Exported,
    ExportLoss,
    Finding,
    Meta,
    Outgoing,
    Sidechain,
    SourceLine,
    SourceMessage,
    ToolCompaction,
    ToolName,
    Transcript,
    Viewed,
)

__all__ = [
    "Conversation",
    "ExportLoss",
    "Exported",
    "Finding",
    "Meta",
    "Outgoing",
    "SessionFile",
    "Sidechain",
    "SourceLine",
    "SourceMessage",
    "ToolCompaction",
    "ToolName",
    "Transcript",
    "Viewed",
    "detect_file",
    "discover",
    "load_file",
    "write",
]
