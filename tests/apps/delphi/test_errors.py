import pickle

from gateleg.apps.delphi.errors import Problem, UnreadableRows


def test_a_pickled_error_keeps_the_rows_that_could_not_be_read() -> None:
    error = UnreadableRows([Problem("votes.csv", 3, "no vote")], 1)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.__dict__) == (UnreadableRows, str(error), error.__dict__)
