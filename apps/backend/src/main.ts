import { jobArgument, urgentJobArgument } from './core/adapters/job-process.ts';

/** A command and a job need little of the backend, and the backend nothing of them: only one of them is loaded. */
async function main(args: readonly string[]): Promise<number> {
  const [first] = args;
  if (first === undefined) return (await import('./run-backend.ts')).runBackend(process.env);
  if (args.length === 1 && (first === jobArgument || first === urgentJobArgument)) {
    return (await import('./backend-job.ts')).serveBackendJob({ isUrgent: first === urgentJobArgument });
  }
  return (await import('./command-line.ts')).runCommandLine(args, process.env);
}

const args = process.argv.slice(2);
process.exitCode = await main(args);
// A name lookup that hangs cannot be cancelled, and would keep the doctor.
if (args[0] === 'doctor') process.exit();
