// Stands where the client expects the program's own script: starts the binary in PI_BINARY.
import { spawn } from "node:child_process";

const pi = spawn(process.env.PI_BINARY, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"]) process.on(signal, () => pi.kill(signal));
pi.on("exit", (code, signal) => process.exit(signal ? 1 : code));
