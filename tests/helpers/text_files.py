"""Ways in which programs write a text into a file."""

from __future__ import annotations

import codecs

WAYS = {
    "UTF-8": lambda text: text.encode(),
    "UTF-8 with mark": lambda text: codecs.BOM_UTF8 + text.encode(),
    "two marks": lambda text: 2 * codecs.BOM_UTF8 + text.encode(),
    "UTF-16": lambda text: codecs.BOM_UTF16_LE + text.encode("utf-16-le"),
    "UTF-16 of old Macintoshes": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "UTF-32": lambda text: codecs.BOM_UTF32_LE + text.encode("utf-32-le"),
}
"""Ways to write a text as bytes."""

ENDS = ["\n", "\r\n", "\r"]
