"""Tool results: made smaller by their shape, so that what a reader looks for first is still there."""

from plimsoll.truncation.tool_results.render import render_result
from plimsoll.truncation.tool_results.shape import Kind
from plimsoll.truncation.tool_results.shrink import ShrunkResult, shrink_result

__all__ = ["Kind", "ShrunkResult", "render_result", "shrink_result"]
