// Runs a Python script in Pyodide over this checkout: node run.mjs ROOT SCRIPT. What it prints is the script's own.
import { loadPyodide } from "pyodide";

const [root, script] = process.argv.slice(2);
const pyodide = await loadPyodide();
pyodide.mountNodeFS("/course", root);
pyodide.setStdout({ batched: (line) => console.log(line) });
pyodide.runPython(`
import runpy, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "/course")
runpy.run_path("/course/${script}", run_name="__main__")
`);
