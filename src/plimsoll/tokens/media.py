"""Token prices of images, audio, video and files: the providers' formulas, as data.

An unknown size costs the maximum of its formula, because a count must not be too low.

Sources: OpenAI, "Images and vision" (tiles and patches), with corrections measured by users where the documented multiplier and
the bill differ; Anthropic, "Images and vision" (one token per 28 by 28 pixels, as measured; the page rounds it to width times
height over 750); Google, "Media resolution" and "Understand and count tokens".
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, TypeAlias

from plimsoll.light.dataclass import dataclass

if TYPE_CHECKING:
    from plimsoll.message import Media


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles:
    """`base` tokens, and with high detail `per_tile` for each square of `tile_px` after downscaling.

    The image is scaled to fit `fit_px` squared, then until its short side is at most `short_px`.
    """

    base: int
    per_tile: int
    tile_px: int = 512
    fit_px: int = 2048
    short_px: int = 768

    def tokens(self, width_px: int, height_px: int, *, low: bool) -> int:
        """Tokens of an image of that size."""
        if low:
            return self.base
        fitted = min(1.0, self.fit_px / max(width_px, height_px), self.short_px / min(width_px, height_px))
        return self.base + self.per_tile * _squares(width_px * fitted, height_px * fitted, self.tile_px)

    @property
    def tokens_max(self) -> int:
        """Tokens of the largest image."""
        return self.base + self.per_tile * ceil(self.fit_px / self.tile_px) * ceil(self.short_px / self.tile_px)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patches:
    """`per_patch` tokens for each square of `patch_px`. Larger images are downscaled to `patches_max` patches.

    `side_px` is the longest side before downscaling; None: unlimited.
    """

    per_patch: float
    patch_px: int
    patches_max: int
    side_px: int | None = None

    def tokens(self, width_px: int, height_px: int, *, low: bool) -> int:  # noqa: ARG002 - the same at any detail
        """Tokens of an image of that size."""
        scale = min(1.0, self.side_px / max(width_px, height_px)) if self.side_px else 1.0
        patches = _squares(width_px * scale, height_px * scale, self.patch_px)
        return ceil(min(patches, self.patches_max) * self.per_patch)

    @property
    def tokens_max(self) -> int:
        """Tokens of the largest image."""
        return ceil(self.patches_max * self.per_patch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flat:
    """The same price for every image."""

    each: int

    def tokens(self, width_px: int, height_px: int, *, low: bool) -> int:  # noqa: ARG002 - the same at any size
        """Tokens of an image of any size."""
        return self.each

    @property
    def tokens_max(self) -> int:
        """Tokens of any image."""
        return self.each


ImageRule: TypeAlias = Tiles | Patches | Flat


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaRule:
    """A provider's prices for each kind of media.

    Audio and video are charged by the second. If only the file size is known, the length is computed from the low bit rates
    `audio_bytes_s` and `video_bytes_s`, which overestimates it.
    """

    image: ImageRule
    audio_per_s: int = 32
    video_per_s: int = 263
    audio_bytes_s: int = 8_000
    video_bytes_s: int = 60_000
    file_bytes_per_token: int = 4
    file_max: int = 460_000
    """A document of 100 pages, each charged as text (3,000 tokens) and as an image (1,600)."""
    unknown: int = 9_200
    """Audio, video or a file of unknown size: two such pages, or about five minutes of speech. The only guess here."""

    def tokens(self, media: Media) -> int:
        """Tokens of one part. Never negative, whatever sizes the part declares."""
        if media.kind == "image":
            return self._image(media)
        if media.size_bytes is None or media.size_bytes < 0:
            return self.unknown
        if media.kind == "audio":
            return ceil(media.size_bytes / self.audio_bytes_s) * self.audio_per_s
        if media.kind == "video":
            return ceil(media.size_bytes / self.video_bytes_s) * self.video_per_s
        return min(self.file_max, ceil(media.size_bytes / self.file_bytes_per_token))

    def _image(self, media: Media) -> int:
        low = media.detail == "low"
        width_px, height_px = media.width_px, media.height_px
        if low and isinstance(self.image, Tiles):
            return self.image.base
        if not width_px or not height_px or width_px < 0 or height_px < 0:
            return self.image.tokens_max
        return self.image.tokens(min(width_px, _SIDE_PX_MAX), min(height_px, _SIDE_PX_MAX), low=low)


_SIDE_PX_MAX = 1_000_000
"""No provider accepts larger images; declared sizes are capped here."""


def _squares(width_px: float, height_px: float, side_px: int) -> int:
    """Squares needed to cover the image, rounded to millionths first so that float errors add no row."""
    return max(1, ceil(round(width_px / side_px, 6))) * max(1, ceil(round(height_px / side_px, 6)))


GPT_4O = MediaRule(image=Tiles(base=85, per_tile=170), audio_per_s=10)
GPT_4O_MINI = MediaRule(image=Tiles(base=2833, per_tile=5667), audio_per_s=10)
GPT_5 = MediaRule(image=Tiles(base=70, per_tile=140), audio_per_s=10)
O_SERIES = MediaRule(image=Tiles(base=75, per_tile=150), audio_per_s=10)
GPT_4_1_MINI = MediaRule(image=Patches(per_patch=1.62, patch_px=32, patches_max=1536), audio_per_s=10)
GPT_4_1_NANO = MediaRule(image=Patches(per_patch=2.46, patch_px=32, patches_max=1536), audio_per_s=10)
O4_MINI = MediaRule(image=Patches(per_patch=1.72, patch_px=32, patches_max=1536), audio_per_s=10)
GPT_5_5 = MediaRule(image=Patches(per_patch=1.2, patch_px=32, patches_max=10_000), audio_per_s=10)
GPT_6 = MediaRule(image=Patches(per_patch=1.2, patch_px=32, patches_max=16_384), audio_per_s=10)
CLAUDE = MediaRule(image=Patches(per_patch=1.0, patch_px=28, patches_max=1_600, side_px=1568))
CLAUDE_LARGE = MediaRule(image=Patches(per_patch=1.0, patch_px=28, patches_max=4_784, side_px=2576))
GEMINI_2 = MediaRule(image=Patches(per_patch=258.0, patch_px=768, patches_max=16, side_px=3072))
GEMINI_3 = MediaRule(image=Flat(each=1_120))

MEDIA_RULES: dict[str, MediaRule] = {
    "gpt-4o-mini": GPT_4O_MINI,
    "gpt-4.1-mini": GPT_4_1_MINI,
    "gpt-4.1-nano": GPT_4_1_NANO,
    "gpt-4": GPT_4O,
    "chatgpt-4o": GPT_4O,
    "gpt-5-mini": GPT_4_1_MINI,
    "gpt-5-nano": GPT_4_1_NANO,
    "gpt-5.5": GPT_5_5,
    "gpt-5": GPT_5,
    "gpt-6": GPT_6,
    "o4-mini": O4_MINI,
    "o1": O_SERIES,
    "o3": O_SERIES,
    "claude-opus-4-7": CLAUDE_LARGE,
    "claude-opus-4-8": CLAUDE_LARGE,
    "claude-opus-5": CLAUDE_LARGE,
    "claude-sonnet-5": CLAUDE_LARGE,
    "claude-fable-5": CLAUDE_LARGE,
    "claude-mythos-5": CLAUDE_LARGE,
    "claude": CLAUDE,
    "gemini-2": GEMINI_2,
    "gemini-1": GEMINI_2,
    "gemini": GEMINI_3,
}
"""By prefix of the model's name; the longest match applies."""

MOST_EXPENSIVE = MediaRule(image=Flat(each=4_784))
"""For unknown models: the highest price of an image at any common model except gpt-4o-mini."""


def media_rule(model: str | None) -> MediaRule:
    """The rule of a model by the longest matching prefix of its name without the provider, else `MOST_EXPENSIVE`."""
    name = (model or "").lower().rsplit("/", 1)[-1]
    fits = [prefix for prefix in MEDIA_RULES if name.startswith(prefix)]
    return MEDIA_RULES[max(fits, key=len)] if fits else MOST_EXPENSIVE
