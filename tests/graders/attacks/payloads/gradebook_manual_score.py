# why: gives itself marks in the gradebook
# score: 4
# shows: gradebook stopped: OperationalError

# %% payload
import sqlite3


def mark():
    book = sqlite3.connect("@out@/gradebook/gradebook.db")
    book.execute("update grade set manual_score = 100")
    book.commit()


attempt("gradebook", mark)
