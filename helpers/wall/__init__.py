"""The wall: a class predicts, sees the spread, votes again, measures. `make wall` starts its server
(python -m helpers.wall.server); a student's notebook sends its predictions by teach/wall_client.py.
"""
