"""Peers on the same work: other projects' loops beside ours, one command each (``python -m benchmarks.peers.<name>``).

What makes a ratio: both arms play the same tasks with the same scripted model in one process and one run, by turns
(A B, B A, ...), and their results (rewards, success, steps) are compared and must be equal, or there is no ratio. A
ratio is the peer's wall-clock time over ours, pair by pair: above 1 ours is faster, below 1 the peer is. Told are the
median of the pairs and its exact 95 % interval (`metagym.stats.median`).

Each module measures one peer and says beside its figures what either side does that the other does not. A peer that
cannot be installed beside us lives in an environment of its own (`benchmarks.peers.places`); one that is absent is
left out with the reason.
"""
