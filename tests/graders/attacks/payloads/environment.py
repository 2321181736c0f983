# why: prints what the grader was started with
# score: 4
# shows: user: learner
# shows: secret: None

# %% payload
import os

print("user:", os.environ["USER"], "secret:", os.environ.get("@variable@"))
print(dict(os.environ))
