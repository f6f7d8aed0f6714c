"""Suggestions for unknown words in a case: the key or the value that was probably meant."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, NamedTuple

from pdem.case.hints.other_words import COHESION, COHESION_HINT, KEYS, REMARKS, VALUES
from pdem.case.messages import shown_value

if TYPE_CHECKING:
    from collections.abc import Sequence

_NEAR, _VERY_NEAR = 0.6, 0.8
"""Similarity at which a word suggests a second one; the second limit applies if the word exists elsewhere."""

_PLACES = 3

_FILLING = re.compile(r"coefficientof|coefficients?|coeffs?|coef")


class Suggestion(NamedTuple):
    """The probable meaning of an unknown key.

    Attributes
    ----------
    key : str
        Key that is allowed at this location; empty if no key is similar.
    text : str
        Text for the message.
    """

    key: str
    text: str


def letters_of(word: str) -> str:
    """Return the letters and digits of a word in lower case, without ``coefficient``."""
    letters = "".join(letter for letter in word.lower() if letter.isalnum())
    return _FILLING.sub("", letters) or letters


def foreign_key(word: str, allowed: Sequence[str]) -> Suggestion | None:
    """Return the key for a word of a different program; None if the word is unknown."""
    letters = letters_of(word)
    same = next((key for key in allowed if letters_of(key) in (letters, letters.removesuffix("s"))), None)
    if same is not None:
        return Suggestion(same, f"did you mean {same!r}?")
    for one in (letters, letters.removesuffix("s")):
        key, remark = REMARKS.get(one, ("", ""))
        if key in allowed:
            return Suggestion(key, remark)
        meant = next((key for key, words in KEYS.items() if one in words and key in allowed), None)
        if meant is not None:
            return Suggestion(meant, f"did you mean {meant!r}?")
    return None


def meant_key(word: str, allowed: Sequence[str], elsewhere: Sequence[str] = ()) -> Suggestion:
    """Return the probable meaning of an unknown key.

    Parameters
    ----------
    word : str
        The key.
    allowed : sequence of str
        Keys that are allowed at its location.
    elsewhere : sequence of str
        Full keys that end with it, at other locations of the file.
    """
    if (foreign := foreign_key(word, allowed)) is not None:
        return foreign
    if near := _near(word, allowed, _VERY_NEAR):
        return Suggestion(near, f"did you mean {near!r}?")
    if any(part in letters_of(word) for part in COHESION):
        return Suggestion("adhesion" if "adhesion" in allowed else "", COHESION_HINT)
    if elsewhere:
        return Suggestion("", f"did you mean {' or '.join(elsewhere[:_PLACES])}?")
    near = _near(word, allowed, _NEAR)
    return Suggestion(near, f"did you mean {near!r}?" if near else "")


def _near(word: str, allowed: Sequence[str], alike: float) -> str:
    """Return the allowed word that is most similar to a word, with at least this similarity; empty if there is none."""
    return next(iter(difflib.get_close_matches(word.lower(), allowed, n=1, cutoff=alike)), "")


def unknown_key_text(key: str, allowed: Sequence[str], elsewhere: Sequence[str] = ()) -> tuple[str, str]:
    """Return the text for an unknown key, and the key that was probably meant; arguments as for `meant_key`."""
    meant = meant_key(key, allowed, elsewhere)
    hint = meant.text if not meant.text or meant.text.endswith("?") else f"{meant.text};"
    return f"is not a key; {f'{hint} ' if hint else ''}allowed: {', '.join(allowed)}", meant.key


def value_hint(word: str, allowed: Sequence[str]) -> str:
    """Return ``did you mean ...?`` for a word that is not an allowed value; empty if no value is similar."""
    letters = letters_of(word)
    meant = next((one for one in allowed if letters_of(one) == letters), None)
    meant = meant or next((one for one in allowed if letters in VALUES.get(one, ())), None)
    meant = meant or _near(word, allowed, _NEAR)
    return f"did you mean {shown_value(meant)}?" if meant else ""
