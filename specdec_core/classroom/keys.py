"""The teacher key: only its scrypt hash is kept, in the environment of the server.

`python -m specdec_core.classroom key` makes one.

Does not know: how often a key may be tried (limits.py), or what it opens (desk.py).
"""

import base64
import binascii
import hashlib
import hmac
import secrets
import unicodedata
from dataclasses import dataclass

from specdec_core.classroom.errors import ClassroomError

SHORTEST = 12
LONGEST = 256
# 32 MiB and about a tenth of a second per try: a stolen hash is slow to guess, and a wrong key does not stall the app.
_COST, _BLOCK, _LANES = 2**15, 8, 1
_LARGEST_COST = 2**18


@dataclass(frozen=True)
class KeyHash:
    """A parsed hash. Written without '$', which shells and compose files would expand."""

    cost: int
    block: int
    lanes: int
    salt: bytes
    digest: bytes

    def __str__(self) -> str:
        salt, digest = (base64.urlsafe_b64encode(part).decode() for part in (self.salt, self.digest))
        return f"scrypt:{self.cost}:{self.block}:{self.lanes}:{salt}:{digest}"


def _plain(key: str) -> bytes:
    # Surrounding blanks come with copying; one keyboard's accented letter is another's two code points.
    return unicodedata.normalize("NFC", key.strip()).encode("utf-8", "surrogatepass")


def _digest(key: str, cost: int, block: int, lanes: int, salt: bytes) -> bytes:
    memory = 129 * cost * block + 2**20
    return hashlib.scrypt(_plain(key), salt=salt, n=cost, r=block, p=lanes, maxmem=memory, dklen=32)


def make_hash(key: str, cost: int = _COST) -> str:
    """The hash of a key, for SPECDEC_TEACHER_KEY_HASH. cost: a power of two, 1024 or more."""
    if not SHORTEST <= len(key.strip()) <= LONGEST:
        raise ClassroomError("bad_input", "A teacher key has {low} to {high} characters.", low=SHORTEST, high=LONGEST)
    salt = secrets.token_bytes(16)
    return str(KeyHash(cost, _BLOCK, _LANES, salt, _digest(key, cost, _BLOCK, _LANES, salt)))


def parse_hash(text: str) -> KeyHash | None:
    """The parts of a stored hash; None when it is not one (then the desk stays shut, it never opens by accident)."""
    parts = text.split(":")
    if len(parts) != 6 or parts[0] != "scrypt":
        return None
    try:
        cost, block, lanes = (int(part) for part in parts[1:4])
        salt, digest = (base64.b64decode(part, altchars=b"-_", validate=True) for part in parts[4:])
    except (ValueError, binascii.Error):
        return None
    fits = 2**10 <= cost <= _LARGEST_COST and cost & (cost - 1) == 0 and 1 <= block <= 32 and 1 <= lanes <= 16
    return KeyHash(cost, block, lanes, salt, digest) if fits and len(salt) >= 8 and len(digest) == 32 else None


def matches(key: str, stored: KeyHash) -> bool:
    """Whether the key is the one that was hashed. The digests are compared in constant time."""
    if len(key) > LONGEST + 100:  # never hash a megabyte for a stranger
        return False
    return hmac.compare_digest(_digest(key, stored.cost, stored.block, stored.lanes, stored.salt), stored.digest)
