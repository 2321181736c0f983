# why: a notebook in which nothing is of the type that it should be
# score: 4

# %% hand-in
def hand_in(folder, notebook):
    notebook["cells"] += [None, 7, [], {"cell_type": ["code"], "source": {"a": 1}, "metadata": [1]}, {"source": [1, None]}]
    notebook["cells"].append({"cell_type": "code", "metadata": {"nbgrader": {"grade_id": ["naive"]}}, "source": 10**40})
    notebook["metadata"] = {"sistolica": {"lab": {"x": 1}, "lang": ["es"]}, "kernelspec": 5}
    notebook["nbformat"] = "four"
    write(folder, notebook)
