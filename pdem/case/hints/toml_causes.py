"""Usual causes of mistakes within one line of TOML, such as habits from other languages and decimal commas."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pdem.case.hints.quantities import number_of, number_text, quantity_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pdem.case.hints.toml_fault import TextFault

_CURLY = "“”„‟«»‹›‘’‚‛`´"
_BLANKS = "\u00a0\u2007\u202f\u200b\u2060\ufeff\u3000"
_DASHES = "−–—‐‑"
_COMMENTS = ("//", "/*", "--", "%", "!", ";", "<!--", "(*", "rem ", "REM ")
_TRUE = {"true", "yes", "on", "y", "t", ".true."}
_FALSE = {"false", "no", "off", "n", "f", ".false."}
_NOTHING = {"none", "null", "nil", "undefined", "~"}
_WORD = re.compile(r"[^\s,;#\]\[{}()=\"']+")
_COMMAS = re.compile(r"[-+]?\d+(?:,\d+)+(?![\w.])")
_BARE_TEXT = re.compile(r"[^\W\d_](?:[\w./~\\:+-]|\s(?=[\w.]))*\Z|[./~][\w./~\\:+-]*\Z|\d+[^\W\d]\w*[-_.]\w+\Z")
_FORMULA = re.compile(
    r"[-+]?(?:[\d.]+(?:e[-+]?\d+)?|pi|[a-z]+\(.*\))\s*(?:[*/+^-]+\s*[\w.(].*)\Z|pi\Z|(?:sqrt|sin|cos|tan|exp)\(", re.I
)
_SPACED_KEY = re.compile(r"\s*([^\W\d]\w*(?:[ -]+\w+)+)\s*=")
_SIGN = re.compile(r"(=>|:=|==|->|<-|:)")
_NUMBERS = re.compile(r"[-+\d.eE]+(?:\s*,\s*[-+\d.eE]+)+\s*[,;]?\Z")
_NUMBER = re.compile(r"[-+]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?\Z")
_NO_END = "Expected newline or end of document after a statement"
_LISTED = re.compile(r"[({<]\s*[-+.\d]")


def cause_at(fault: TextFault) -> str:
    """Return the usual cause of a mistake at a position; empty if no rule applies."""
    return next((cause for rule in _RULES if (cause := rule(fault))), "")


def _letters(fault: TextFault) -> str:
    letter = fault.rest[:1] or " "
    if letter in _CURLY:
        inner = fault.rest.strip(_CURLY + " ,]}")
        return f'curly quotes, as of a word processor; texts need straight ones: "{_within(inner)}"'
    if letter in _BLANKS or (fault.before[-1:] or " ") in _BLANKS:
        return "a blank that is no plain space, as of a web page or a word processor: type a space"
    if letter in _DASHES:
        return f"a dash, as of a word processor; a minus is a hyphen: {_as_number(fault)}"
    return ""


def _within(text: str) -> str:
    return re.split(f"[{_CURLY}]", text)[0]


def _as_number(fault: TextFault) -> str:
    word = _WORD.match(fault.rest)
    text = word[0] if word else fault.rest
    return text.translate({ord(dash): "-" for dash in _DASHES})


def _comment(fault: TextFault) -> str:
    rest = fault.rest.lstrip()
    begins = rest.startswith(_COMMENTS[:2]) or fault.line.strip().startswith(_COMMENTS)
    if not begins or (fault.line.strip().startswith("--") and "=" in fault.line):
        return ""
    mark = next(one for one in _COMMENTS if rest.startswith(one) or fault.line.strip().startswith(one))
    return f"comments begin with #, not with {mark.strip()}"


def _sign(fault: TextFault) -> str:
    """Return the hint on a wrong sign between key and value."""
    near = fault.bare_line[max(fault.column - 2, 0) :]
    found = _SIGN.match(near.lstrip()) or _SIGN.match(fault.rest.lstrip())
    before = re.split(r"[{,]", fault.before)[-1].rstrip("= ")
    if found is None or "=" in before or fault.line.lstrip().startswith("["):
        return ""
    key = re.split(r"[\s{,]", fault.line[: fault.line.index(found[1])].strip())[-1]
    value = fault.line[fault.line.index(found[1]) + len(found[1]) :].split("#")[0].strip(" ,}")
    return f"a key and its value are joined by =: {key} = {value}"


def _comma(fault: TextFault) -> str:
    """Return the right form of a number with a decimal comma, or with commas between thousands."""
    for found in _COMMAS.finditer(fault.bare_line):
        if not found.start() <= fault.column - 1 <= found.end():
            continue
        groups = found[0].split(",")
        if len(groups) == 2:
            return f"decimals are written with a point: {found[0].replace(',', '.')}"
        if all(len(group) == 3 for group in groups[1:]):
            return f"numbers are written without separators: {''.join(groups)}"
        return f"a list is written in brackets: [{', '.join(groups)}]"
    return ""


def _constant(fault: TextFault) -> str:
    word = _WORD.match(fault.rest)
    text = word[0].lower() if word else ""
    if fault.reason != "Invalid value":
        return ""
    if text in _TRUE | _FALSE:
        return f"true and false are written in small letters: {'true' if text in _TRUE else 'false'}"
    if text in _NOTHING:
        return f"there is no {word[0] if word else text}: leave the key out"
    if text.strip("+-") in ("infinity", "inf", "nan"):
        return "infinite numbers and such that are none have no use here: leave the key out, or give a number"
    return ""


def _backslash(fault: TextFault) -> str:
    if "\\" not in fault.before[-3:] + fault.rest[:1] and "Unescaped" not in fault.reason:
        return ""
    if "hex" not in fault.reason and "Unescaped" not in fault.reason:
        return ""
    found = re.search(r"\"([^\"]*\\[^\"]*)\"?", fault.line)
    path = (found[1] if found else "C:/folder/file").replace("\\\\", "\\").replace("\\", "/")
    return f'a backslash in quotes begins a code for a letter; write paths with slashes: "{path}", or in single quotes'


def _brackets(fault: TextFault) -> str:
    if _LISTED.match(fault.value) and fault.reason.startswith(("Invalid value", "Expected '='", "Invalid initial")):
        inner = fault.value.strip("({<>})[] ").rstrip(";")
        numbers = ", ".join(re.split(r"[,;\s]+", inner))
        return f"a list is written in square brackets: [{numbers}]"
    if re.match(r"\[\s*[\w.-]+\s*=", fault.value):
        return f"a table is written in braces: {{{fault.value.strip('[]')}}}"
    if _NUMBERS.match(fault.value) and fault.rest.startswith(","):
        return f"a list is written in square brackets: [{fault.value.rstrip(',; ')}]"
    return ""


def _separator(fault: TextFault) -> str:
    """Return the hint on separators between the elements of a list or the keys of an inline table."""
    if fault.reason.startswith("Unclosed array"):
        return "elements of a list are separated by commas: [0.0, 0.0, 0.1]"
    if fault.reason.startswith("Unclosed inline table"):
        return "keys of an inline table are separated by commas: {count = 10, seed = 1}"
    if fault.reason.startswith("Invalid initial character") and fault.rest.lstrip().startswith("}"):
        return "an inline table {...} has no comma before its }"
    return ""


def _end_of_line(fault: TextFault) -> str:
    rest = fault.rest.strip()
    if not rest.startswith((";", ",")) or fault.reason != _NO_END:
        return ""
    if rest[1:].strip() and not rest[1:].strip().startswith("#"):
        return "each key has a line of its own"
    return f"a line does not end with {'a comma' if rest[0] == ',' else 'a semicolon'}: leave it out"


def _unit(fault: TextFault) -> str:
    found = quantity_of(fault.value) or quantity_of(fault.value.replace('"', ""))
    if found is None or (fault.value.startswith('"') and fault.reason != _NO_END):
        return ""
    return f"numbers stand alone, in SI units: {fault.key or 'KEY'} = {found}"


def _number(fault: TextFault) -> str:
    """Return the right form of a number in the notation of a different language."""
    value = fault.value.strip("[]{} ,;")
    if not value or not fault.reason.startswith((_NO_END, "Invalid value", "Unclosed")):
        return ""
    if "$" in value or "@" in value:
        return "there are no variables: write the value itself (--set KEY=VALUE changes it)"
    if _FORMULA.match(value):
        return "there are no formulas: write the number itself"
    if re.match(r"[-+]?\d[\d ]*\d\Z", value) and " " in value and fault.reason == _NO_END:
        return f"numbers are written without separators: {value.replace(' ', '')}"
    word = _words_around(fault)
    if (number := number_of(word)) is not None and not _NUMBER.match(word):
        return f"this number is written {number_text(number)}"
    if re.match(r"[-+]{2,}\d|[-+]?[\d.]+(?:[eEdD][-+]?[\d.]*)?\Z|[-+]\Z", value) and not _NUMBER.match(value):
        return "this is no number: write 5, 0.005 or 5e-3"
    return ""


def _words_around(fault: TextFault) -> str:
    """Return the word around a position, which may be inside the word or at one of its ends."""
    begin = len(fault.before) - len(re.split(r"[\s,=\[{(]", fault.before)[-1])
    found = _WORD.match(fault.line[begin:])
    return found[0] if found else ""


def _missing_value(fault: TextFault) -> str:
    ends = fault.line.split("#")[0].rstrip().endswith("=")
    return f"{fault.key} has no value: write {fault.key} = VALUE, or leave the line out" if ends and fault.key else ""


def _missing_quotes(fault: TextFault) -> str:
    if fault.reason not in ("Invalid value", _NO_END):
        return ""
    value = fault.value
    if value.startswith(("[", "{")):
        word = _WORD.match(fault.rest) if fault.reason == "Invalid value" else None
        value = word[0] if word else ""
    if not _BARE_TEXT.match(value):
        return ""
    return f'texts need quotes: "{value}"'


def _key(fault: TextFault) -> str:
    line = fault.line
    if found := _SPACED_KEY.match(line):
        return f"keys have no spaces: {re.sub(r'[ -]+', '_', found[1].strip())} = ..."
    if fault.line.strip().startswith(("{", "<?", "<", "- ")) and fault.number < 4:
        return "this looks like JSON, XML or YAML; a case is written in TOML: KEY = VALUE, [TABLE], [[TABLE]]"
    if "=" in line and re.search(r"[^\x00-\x7f]", line.partition("=")[0]):
        return "keys are written with plain letters, digits, _ and -; others need quotes"
    if re.search(r"\.\s*[.=\]]|^\s*\.", line.partition("#")[0]) and fault.reason != _NO_END:
        return "names in a key are joined by single points: time.end"
    return ""


def _two_keys(fault: TextFault) -> str:
    if fault.reason == _NO_END and re.match(r"[\w.-]+\s*=[^=]", fault.rest.strip()):
        return "each key has a line of its own"
    if fault.reason == "Invalid value" and re.match(r"[\w.-]+\s*=[^=]", fault.value):
        return f"there are two signs of equality; a table is written in braces: {{{fault.value}}}"
    return ""


def _missing_sign(fault: TextFault) -> str:
    found = re.match(r"\s*([\w.-]+)\s+([-+.\d\"'\[{].*)\Z", fault.line.split("#")[0].rstrip())
    if found and fault.reason.startswith("Expected '='"):
        return f"a key and its value are joined by =: {found[1]} = {found[2]}"
    if fault.reason == _NO_END:
        return "nothing but a comment stands behind a value"
    if fault.reason.startswith("Duplicate"):
        return "a key stands once in a table: leave one of them out"
    if fault.reason.startswith(("Expected '='", "Invalid statement", "Invalid initial")):
        return "a line is KEY = VALUE, [TABLE], [[TABLE]], or a comment that begins with #"
    return ""


def _header(fault: TextFault) -> str:
    """Return the right form of the name of a table."""
    line = fault.line.split("#")[0].strip()
    if not re.match(r"[\[(<]", line) or "=" in line.split("]")[-1]:
        return ""
    many, name = line.startswith("[["), line.strip("[]()<>:;, ")
    if not re.fullmatch(r"[\w.\"' -]+", name):
        return ""
    if " " in name and '"' not in name:
        name = name.replace(" ", "_")
    if line.startswith("[") and line.count("[") > line.count("]"):
        return f"the name of a table ends with as many brackets as it begins with: {_table(name, many)}"
    if line.rstrip(":;,") != line:
        return f"nothing stands behind the name of a table: {_table(name, many)}"
    return f"the name of a table is written {_table(name, many and line.endswith(']]'))}" + (
        f", or {_table(name, True)} if there may be several" if line.endswith("]]") and not many else ""
    )


def _table(name: str, many: bool) -> str:
    return f"[[{name}]]" if many else f"[{name}]"


_RULES: tuple[Callable[[TextFault], str], ...] = (
    _letters,
    _comment,
    _header,
    _comma,
    _backslash,
    _sign,
    _constant,
    _missing_value,
    _brackets,
    _unit,
    _end_of_line,
    _number,
    _separator,
    _missing_quotes,
    _two_keys,
    _key,
    _missing_sign,
)
