"""Things that must not be guessed: join codes, student tokens, ids, and the seeds of a student's variants.

Does not know: the database.
"""

import hashlib
import hmac
import math
import secrets
import unicodedata

# For reading off a projector: no vowels (no words by accident), nothing that looks like something else
# (0 O Q, 1 I L, 2 Z, 5 S, 8 B, U V).
ALPHABET = "CDFGHJKMNPRTWXY34679"
CODE_LENGTH = 12
CODE_BITS = CODE_LENGTH * math.log2(len(ALPHABET))  # 51.9
_GROUP = 4


def new_code() -> str:
    """A fresh join code, as it is stored: twelve characters without hyphens."""
    return "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))


def show_code(code: str) -> str:
    """The code as people read it: ABCD-EFGH-JKLM."""
    return "-".join(code[i : i + _GROUP] for i in range(0, len(code), _GROUP))


def read_code(typed: str) -> str | None:
    """The stored form of a typed code: upper case, full-width letters folded, hyphens and blanks dropped.

    None when it cannot be a code: then there is nothing to look up.
    """
    if len(typed) > 100:
        return None
    folded = unicodedata.normalize("NFKC", typed).upper()
    code = "".join(c for c in folded if not c.isspace() and unicodedata.category(c) not in ("Pd", "Cf"))
    return code if len(code) == CODE_LENGTH and set(code) <= set(ALPHABET) else None


def new_id() -> str:
    """An id for an assignment or a student: 128 random bits."""
    return secrets.token_hex(16)


def new_secret() -> bytes:
    """The secret of an assignment, from which its variants are derived."""
    return secrets.token_bytes(32)


def new_token() -> str:
    """A student's token: 256 random bits, the only proof of who a student is."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """What is stored of a token. It is random and long, so a plain SHA-256 cannot be turned back."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def variant_seed(secret: bytes, student_id: str, question: int, attempt: int, base_seed: int | None = None) -> int:
    """A seed below 2**48, the same whenever it is asked for, that says nothing about any other student's seed.

    student_id is "" when everyone gets the same variant.
    """
    message = "|".join(("seed", student_id, str(question), str(attempt), "" if base_seed is None else str(base_seed)))
    return int.from_bytes(hmac.digest(secret, message.encode(), "sha256")[:6], "big")
