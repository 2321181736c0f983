# why: uses 3 GB of memory
# score: 0
# needs: memory
# shows: usó más memoria de la permitida

# %% payload
bomb = bytearray(3 * 10**9)
bomb[:: 4096] = bytes(len(bomb[:: 4096]))
print("BRE" "ACH", len(bomb))
