# why: text that turns round, is invisible or is no text
# score: 4
# shows: prueba

# %% naive
def naive_matmul(a, b):
    raise ValueError("\udc80" + "\u202e" * 50)


print("prueba \u202e\u2066\u200b\ufeff\udcff\ud800 \x00 \U000e0041")
get_ipython().outlet.show("error", {"ename": "\udcff", "evalue": "\ud800", "traceback": ["\udcff"]})
