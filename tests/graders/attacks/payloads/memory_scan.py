# why: searches its own memory, a copy of the zygote's, for what the grader knows
# score: 4
# shows: searched True
# hides: FOUND

# %% payload
wanted = {b"@prefix@": "0123456789abcdef", b"product[i][j] +": "=", b"def naive(learner": ","}  # and what comes after each
seen = 0
with open("/proc/self/mem", "rb", 0) as memory:
    for line in open("/proc/self/maps"):
        bounds, rights, *_ = line.split()
        start, end = (int(bound, 16) for bound in bounds.split("-"))
        if not rights.startswith("rw"):
            continue
        try:
            memory.seek(start)
            region = memory.read(end - start)
        except (OSError, OverflowError, ValueError):
            continue
        seen += len(region)
        for head, after in wanted.items():
            at = region.find(head)
            while at >= 0:
                if chr(region[at + len(head)]) in after:
                    print("FO" "UND", region[at : at + 64])
                at = region.find(head, at + 1)
print("searched", seen > 10**7)
