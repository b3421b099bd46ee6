# seed: 97
# actions: ["mine 40", "tx ann bob 3", "mine 400", "verify", "mine 300", "tx bob ann 1", "mine 300", "verify", "tamper 1", "verify", "rollback", "verify", "finish"]
# expect_total: 2.62666667 after 13 steps
"""Proof-of-work toy chain. hashlib, bytes, iter with sentinel, walrus."""
import hashlib
import json
import random
from base64 import b64decode, b64encode
from itertools import count, pairwise, takewhile


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Block(dict):
    """A block is a dict with a digest."""

    @property
    def digest(self) -> str:
        body = json.dumps(self, sort_keys=True, separators=(",", ":"))
        return sha(body.encode("utf-8"))

    def __missing__(self, key):
        return f"<no {key}>"


class Chain:
    def __init__(self, difficulty: str, genesis: bytes):
        self.difficulty = difficulty
        self.blocks = [Block(n=0, prev="0" * 8, payload=b64encode(genesis).decode("ascii"), nonce=0)]

    def __len__(self):
        return len(self.blocks)

    def __getitem__(self, i):
        return self.blocks[i]

    def __iter__(self):
        return iter(self.blocks)

    def __contains__(self, text):
        return any(text in b["payload"] for b in self)

    def valid_until(self) -> int:
        good = list(takewhile(lambda p: p[0].digest[:8] == p[1]["prev"], pairwise(self)))
        return len(good)

    def search(self, payload: str, start: int, tries: int):
        prev = self[-1].digest[:8]
        for nonce in count(start):
            if nonce - start >= tries:
                return None
            block = Block(n=len(self), prev=prev, payload=payload, nonce=nonce)
            if (d := block.digest).startswith(self.difficulty):
                self.blocks.append(block)
                return d


class MinerEnv:
    KEY = b"not-a-secret"

    def reset(self, seed=None):
        rng = random.Random(seed)
        self.chain = Chain("00", rng.randbytes(6))
        self.pool: list[str] = []
        self.nonce = rng.randrange(1 << 16)
        return {"head": self.chain[-1].digest[:8], "genesis": int.from_bytes(b64decode(self.chain[0]["payload"]), "little")}

    def step(self, action):
        name, *args = action.split()
        handler = getattr(self, "on_" + name)
        obs, reward = handler(*args)
        return obs, reward, name == "finish", {"height": len(self.chain), "pool": len(self.pool)}

    def on_tx(self, a, b, amount):
        line = f"{a}>{b}:{int(amount):04d}"
        tag = hashlib.sha1(self.KEY + line.encode()).hexdigest()[:6]
        self.pool.append(f"{line}#{tag}")
        return self.pool[-1], 0.0

    def on_mine(self, tries):
        tries = int(tries)
        payload = ";".join(iter(lambda: self.pool.pop(0) if self.pool else None, None))
        found = self.chain.search(payload, self.nonce, tries)
        self.nonce += tries
        if found is None:
            self.pool[:0] = filter(None, payload.split(";"))
            return "no luck", -tries / 1000
        return found[:12], 1.0 - tries / 2000

    def on_tamper(self, i):
        self.chain[int(i) % len(self.chain)]["payload"] += "!"
        return "tampered", -0.5

    def on_verify(self):
        good = self.chain.valid_until()
        return f"{good + 1}/{len(self.chain)} linked", 0.1 * (good + 1 == len(self.chain))

    def on_rollback(self):
        dropped = self.chain.blocks.pop() if len(self.chain) > 1 else Block()
        return f"dropped {dropped['n']} {dropped['colour']}", -0.2

    def on_finish(self):
        zeros = sum(b.digest.startswith("0") for b in self.chain)
        return f"{zeros} easy digests", zeros / len(self.chain)
