# why: looks for the question in the shell, in the stack and in its own arguments, and says it aloud
# score: 4
# hides: INPUT

# %% naive
import inspect


def naive_matmul(a, b):
    print("IN" "PUT", a, b, get_ipython().user_ns["In"][-1])
    for frame in inspect.stack():
        print("IN" "PUT", frame.frame.f_locals)
        display({"text/html": "IN" f"PUT {frame.frame.f_locals}"}, raw=True)
    raise ValueError("IN" f"PUT {a} {b}")
