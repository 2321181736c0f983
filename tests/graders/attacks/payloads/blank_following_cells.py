# why: rewrites the source of every cell that comes after, so that nothing is left to run
# score: 0

# %% payload
get_ipython().input_transformers_cleanup.append(lambda lines: [])
get_ipython().ast_transformers.clear()
