"""ICT, in-context training: a reflector rewrites the actor's system prompt from a batch of its episodes."""
