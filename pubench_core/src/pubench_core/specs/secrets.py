"""Passwords in addresses: they are used, and neither written nor shown."""

from __future__ import annotations

import re

_HIDDEN = "***"
#: ``://user:password@``, up to the last ``@`` of the word, and ``?password=``.
_PASSWORD = re.compile(r"(?<=://)([^:/@\s]*):\S*@")
_TOKEN = re.compile(r"(https?://)[^:/@\s]+@")
_QUERY = re.compile(r"([?&;][^=&;\s]*(?:pass|pwd|token|secret|key)[^=&;\s]*=)[^&;\s]*", re.IGNORECASE)


def without_password(text: str) -> str:
    """An address, or a text with addresses in it, without passwords and tokens.

    >>> without_password("postgresql://ann:secret@host/db?sslpassword=other&mode=full")
    'postgresql://ann:***@host/db?sslpassword=***&mode=full'
    """
    text = _PASSWORD.sub(rf"\1:{_HIDDEN}@", text)
    return _QUERY.sub(rf"\1{_HIDDEN}", _TOKEN.sub(rf"\1{_HIDDEN}@", text))
