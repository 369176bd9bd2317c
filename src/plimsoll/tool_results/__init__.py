"""Tool results: made smaller by their shape, so that what a reader looks for first is still there."""

from plimsoll.tool_results.render import render_result
from plimsoll.tool_results.shape import Kind
from plimsoll.tool_results.shrink import Shrunk, shrink_result

__all__ = ["Kind", "Shrunk", "render_result", "shrink_result"]
