"""SESA by two trainers: a challenger and a solver with parameters of their own, in alternating rounds.

    with SelfPlay(world, SelfPlaySettings(), challenger=Seat(...), solver=Seat(...), folder=path) as play:
        play.run()
        print(table(play.outcomes(), "..."))

`metagym_trainers.sesa.selfplay` needs the extra ``trl``; settings, worlds and rewards do not.
"""
