"""A JSON text edited in place: only the values that are set change, every other byte stays as it was.

The text is held as a lossless tree of pieces, opened level by level where a path leads. What nobody touches
is never decoded, so that ``0.9470``, ``1e400``, escapes, spacing and order survive exactly.
"""

from __future__ import annotations

from typing import Any

from runledger import json_text
from runledger.json_style import Style, encode, line_of
from runledger.json_text import DocumentDamaged, decode

__all__ = ["Document", "DocumentDamaged", "Path"]

Path = tuple[str | int, ...]

_KINDS = {"{": "object", "[": "array", '"': "string", "t": "true", "f": "false", "n": "null"}


class Document:
    """The text of one JSON object.

    A path is a tuple of member names and list positions: ``("sprints", "list", 0, "status")``. Where a
    foreign level says a name twice, the last one counts, as it does for every JSON parser.

    Raises:
        DocumentDamaged: the text is not JSON, is no object, nests too deep, or says a name twice at a level
            that this package writes to, which would leave open what is meant.
    """

    __slots__ = ("_foot", "_head", "_root")

    def __init__(self, text: str) -> None:
        start = json_text.space(text, 0)
        end = json_text.skip(text, start)
        foot = json_text.space(text, end)
        if foot != len(text):
            raise DocumentDamaged("something follows the end of the document", foot)
        if text[start] != "{":
            raise DocumentDamaged("it is not an object", start)
        self._head, self._foot = text[:start], text[end:]
        self._root = _Container(text[start:end], 0)
        for path in _written_levels(self):
            self._refuse_twins(path)

    @classmethod
    def new(cls, value: dict[str, Any]) -> Document:
        """A fresh document, indented by two spaces; an object of plain values in a list takes one line."""
        return cls(Style("\n").render(value) + "\n")

    @property
    def text(self) -> str:
        """The whole text as it is now."""
        pieces = [self._head]
        self._root.write(pieces)
        pieces.append(self._foot)
        return "".join(pieces)

    def end_with_newline(self) -> None:
        """Let exactly one newline follow the document."""
        self._foot = "\n"

    def kind(self, path: Path) -> str | None:
        """What is there: object, array, string, number, true, false or null; None where nothing is."""
        if not path:
            return "object"
        member = self._member(path)
        if member is None:
            return None
        return _KINDS.get(
            member.value[0] if isinstance(member.value, str) else member.value.bracket, "number"
        )

    def length(self, path: Path) -> int:
        """How many members the object or array at ``path`` has; 0 where neither is."""
        container = self._container(path)
        return len(container.members) if container is not None else 0

    def raw(self, path: Path) -> str | None:
        """The text of a value, None where nothing is."""
        member = self._member(path)
        return None if member is None else member.raw

    def get(self, path: Path) -> Any:
        """The value at ``path``; None where nothing is (``kind`` tells that from null)."""
        raw = self.raw(path)
        return None if raw is None else decode(raw)

    def scalar(self, path: Path) -> str | int | float | bool | None:
        """The value at ``path`` unless it is an object or an array; None too where nothing is."""
        raw = self.raw(path)
        value: str | int | float | bool | None = None if raw is None or raw[0] in "{[" else decode(raw)
        return value

    def set(self, path: Path, value: Any) -> None:
        """Replace a value, or append it as its parent's last member. An equal plain value keeps its text.

        Raises:
            KeyError: the parent is missing, is no object, or has no such position.
        """
        member = self._member(path)
        if member is not None:
            if not _same(member.raw, value):
                member.value = self._style(path[:-1], line_of(member.lead)).render(value)
            return
        parent, name = self._container(path[:-1]), path[-1]
        if parent is None or parent.bracket != "{" or not isinstance(name, str):
            raise KeyError(path)
        self._add(path[:-1], parent, name, value)

    def append(self, path: Path, value: Any) -> None:
        """Append an item to the array at ``path``, written like its neighbours.

        Raises:
            KeyError: there is no array.
        """
        parent = self._container(path)
        if parent is None or parent.bracket != "[":
            raise KeyError(path)
        self._add(path, parent, None, value)

    def remove(self, path: Path) -> bool:
        """Remove a member with its comma and its white space; False where nothing is."""
        member, parent = self._member(path), self._container(path[:-1])
        if member is None or parent is None:
            return False
        position = next(at for at, other in enumerate(parent.members) if other is member)
        del parent.members[position]
        parent.changed()
        if not parent.members:
            parent.tail = ""
        elif position == 0:
            parent.members[0].lead = member.lead
        elif position == len(parent.members):
            parent.members[-1].trail = ""
        return True

    # --- finding ------------------------------------------------------------------------------------------

    def _member(self, path: Path) -> _Member | None:
        parent = self._container(path[:-1]) if path else None
        return None if parent is None else parent.find(path[-1])

    def _container(self, path: Path) -> _Container | None:
        container = self._root
        for depth, step in enumerate(path, 1):
            member = container.find(step)
            if member is None:
                return None
            if isinstance(member.value, str):
                if member.value[0] not in "{[":
                    return None
                member.value = _Container(member.value, depth)
            container = member.value
        return container

    def _refuse_twins(self, path: Path) -> None:
        container = self._container(path)
        if container is None or container.bracket == "[":
            return
        names = [member.name for member in container.members]
        if len(set(names)) != len(names):
            seen: set[str] = set()
            twin = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]  # None: it is new
            where = ".".join(map(str, path)) or "the document"
            raise DocumentDamaged(f"{where} says {twin[:100]!r} twice", 0)

    # --- style --------------------------------------------------------------------------------------------

    def _add(self, path: Path, parent: _Container, name: str | None, value: Any) -> None:
        style = self._style(path, self._line_inside(path, parent))
        lead = style.line if style.line is not None else style.gap if parent.members else ""
        spread = False
        if not parent.members:
            parent.tail = style.outer
        elif name is None and parent.members[-1].raw[0] == "{":
            neighbour = _Container(parent.members[-1].raw, len(path))
            spread = any("\n" in member.lead for member in neighbour.members)
            if neighbour.members:
                style = style.like(neighbour.members[-1].colon, neighbour.tail)
        key, colon = ("", "") if name is None else (encode(name), style.colon)
        parent.members.append(
            _Member(lead, key, colon, style.render(value, item=name is None and not spread))
        )
        parent.changed()

    def _style(self, path: Path, line: str | None) -> Style:
        """How to write inside the container at ``path``: its colon, the document's indentation."""
        container, first = self._container(path), self._root.members[:1]
        colons = [*(container.members[-1:] if container is not None else []), *first]
        colon = next((member.colon for member in colons if member.colon), ": ")
        indent = line_of(first[0].lead) if first else None
        return Style(
            line, indent.lstrip("\r\n") if indent is not None else "  ", colon if "\n" not in colon else ": "
        )

    def _line_inside(self, path: Path, container: _Container) -> str | None:
        """What a new line inside the container begins with; None for a container on one line."""
        if container.members:
            return line_of(container.members[-1].lead)
        member = self._member(path)
        outer = "\n" if member is None else line_of(member.lead)
        return None if outer is None else outer + self._style(path, outer).step


class _Member:
    """A member of an object or an item of an array, with the white space around its parts."""

    __slots__ = ("colon", "key", "lead", "trail", "value")

    def __init__(self, lead: str, key: str, colon: str, value: str | _Container, trail: str = "") -> None:
        self.lead, self.key, self.colon, self.value, self.trail = lead, key, colon, value, trail

    @property
    def name(self) -> str:
        return str(decode(self.key))

    @property
    def raw(self) -> str:
        if isinstance(self.value, str):
            return self.value
        pieces: list[str] = []
        self.value.write(pieces)
        return "".join(pieces)


class _Container:
    """An object or an array taken apart by one level; ``tail`` is the white space before its end."""

    __slots__ = ("_named", "bracket", "members", "tail")

    def __init__(self, text: str, depth: int) -> None:
        parts, self.tail = json_text.members(text, depth)
        self.bracket = text[0]
        self.members = [_Member(*part) for part in parts]
        self._named: dict[str, _Member] | None = None

    def changed(self) -> None:
        """A member came or went."""
        self._named = None

    def find(self, step: str | int) -> _Member | None:
        if isinstance(step, int):
            fits = self.bracket == "[" and 0 <= step < len(self.members)
            return self.members[step] if fits else None
        if self.bracket != "{":
            return None
        if self._named is None:
            # Else each item of a long list would be found by a walk over all its parents' members.
            self._named = {member.name: member for member in self.members}
        return self._named.get(step)

    def write(self, pieces: list[str]) -> None:
        pieces.append(self.bracket)
        for position, member in enumerate(self.members):
            pieces += ("," if position else "", member.lead, member.key, member.colon)
            if isinstance(member.value, str):
                pieces.append(member.value)
            else:
                member.value.write(pieces)
            pieces.append(member.trail)
        pieces += (self.tail, "}" if self.bracket == "{" else "]")


def _written_levels(document: Document) -> list[Path]:
    """The paths of the objects that this package writes to."""
    items: Path = ("sprints", "list")
    each: list[Path] = [(*items, position) for position in range(document.length(items))]
    return [(), ("timestamps",), ("sprints",), ("ledger",), ("failure",), *each]


def _same(raw: str, value: Any) -> bool:
    """Equal in value and in type, so that 1, 1.0 and true are three things; never for objects and arrays."""
    if raw[0] in "{[" or isinstance(value, dict | list):
        return False
    said = decode(raw)
    return type(said) is type(value) and bool(said == value)
