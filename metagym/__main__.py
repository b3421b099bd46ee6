"""``python -m metagym``: the `metagym` command, where its script is not on the path."""

from metagym.cli import main

if __name__ == "__main__":
    main()
