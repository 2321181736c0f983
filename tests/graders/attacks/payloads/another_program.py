# why: turns into another program in the middle of the notebook
# score: 0
# shows: El kernel se cerró al ejecutar la celda naive

# %% payload
import os

os.execv("/bin/cat", ["/bin/cat"])
