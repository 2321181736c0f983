# why: brings settings that programs read when they start in that folder
# score: 4

# %% hand-in
def hand_in(folder, notebook):
    write(folder, notebook)
    start = "print('BREACH')\n"
    (folder / "ipython_config.py").write_text("c.InteractiveShellApp.exec_lines = [\"print('BREACH')\"]\n")
    (folder / ".ipython" / "profile_default" / "startup").mkdir(parents=True)
    (folder / ".ipython" / "profile_default" / "startup" / "00.py").write_text(start)
    (folder / "matplotlibrc").write_text("backend: TkAgg\n")
    (folder / "a.pth").write_text("import os; print('BREACH')\n")
    (folder / "pyvenv.cfg").write_text("home = /tmp\n")
    (folder / "conftest.py").write_text(start)
