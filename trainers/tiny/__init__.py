"""Tiny models and toy worlds, on which the real trainers learn in about a minute on two cores.

Nothing here says anything about language models: every table made with it is labelled as such.
"""
