"""MetaGym: meta-environments in which one outer action is a whole batch of inner episodes."""
