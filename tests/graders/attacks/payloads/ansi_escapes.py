# why: writes to the teacher's terminal: colours, a title, a link, a bell, a line over another
# score: 4
# shows: owned

# %% naive
def naive_matmul(a, b):
    return [[0]]


print("\x1b[2J\x1b]0;owned\x07\x1b[31mred\x9b2J\rover")
raise RuntimeError("\x1b[8mhidden \x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\ \x1bc owned")
