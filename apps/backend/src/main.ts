// A command needs little of the backend, and the backend nothing of the commands: only one of them is loaded.
const args = process.argv.slice(2);
process.exitCode =
  args.length === 0
    ? await (await import('./run-backend.ts')).runBackend(process.env)
    : await (await import('./command-line.ts')).runCommandLine(args, process.env);
// A name lookup that hangs cannot be cancelled, and would keep the doctor.
if (args[0] === 'doctor') process.exit();
