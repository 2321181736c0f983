# why: takes the shell's parts away: prompts, history, events, the loop, standard streams
# score: 0

# %% payload
import asyncio
import os
import sys

shell = get_ipython()
shell.history_manager = shell.events = shell.displayhook = None
sys.stdout = sys.stderr = sys.stdin = None
asyncio.set_event_loop(None)
os.chdir("/")
sys.path.clear()
