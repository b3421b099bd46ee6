"""What the peers themselves load: a plugin of verifiers', and the program of a bare subprocess."""
