"""The workshop behind the lessons: make a file, measure what reading it costs, show it, teach with it, publish it."""
