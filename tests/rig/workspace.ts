import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tell } from './debian.ts';
import { removeLeftovers } from './leftovers.ts';

/** One folder below the temporary directory that holds everything a test run puts on the machine. */
export type Workspace = AsyncDisposable & {
  folder: string;
  /** Creates (when needed) and returns a folder below {@link folder}. */
  subfolder(name: string): Promise<string>;
  /** Adds a component that is disposed with the workspace, in reverse order, also on a signal. */
  own<T extends AsyncDisposable>(component: T): T;
};

const prefix = 'station-rig-';
const live = new Set<AsyncDisposable>();

/**
 * Makes a workspace. Disposing it (also by SIGINT, SIGTERM or SIGHUP) disposes all components, then finds
 * leftovers (processes, mounts, bridges), ends them, and removes the folder.
 */
export async function createWorkspace(): Promise<Workspace> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  await writeFile(join(folder, 'owner'), `${process.pid} ${await startTimeOf(process.pid)}`);
  const components = new AsyncDisposableStack();
  let disposal: Promise<void> | undefined;
  const dispose = async (): Promise<void> => {
    try {
      await components.disposeAsync();
    } finally {
      await removeLeftovers(folder);
      await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
      live.delete(workspace);
      if (live.size === 0) for (const name of signals) process.off(name, onSignal);
    }
  };
  const workspace: Workspace = {
    folder,
    subfolder: async (name) => {
      const path = join(folder, name);
      await mkdir(path, { recursive: true });
      return path;
    },
    own: (component) => components.use(component),
    [Symbol.asyncDispose]: () => (disposal ??= dispose()),
  };
  if (live.size === 0) for (const name of signals) process.on(name, onSignal);
  live.add(workspace);
  return workspace;
}

/**
 * Removes the workspaces of test runs that ended without cleaning up (kill -9, power cut). Those still running stay. Prints which one it
 * cannot remove: that is no fault of the caller.
 */
export async function sweepWorkspaces(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(prefix)) continue;
    const folder = join(tmpdir(), name);
    const owner = await readFile(join(folder, 'owner'), 'utf8').catch(() => null);
    // Without an owner it is being created or removed at this moment.
    if (!owner) continue;
    const [pid, startTime] = owner.split(' ');
    if ((await startTimeOf(Number(pid))) === startTime) continue;
    try {
      await removeLeftovers(folder);
      await rm(folder, { recursive: true, force: true });
    } catch (error) {
      tell(`Left ${folder} of an earlier run: ${String(error)}`);
    }
  }
}

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
let interrupted = false;

function onSignal(name: NodeJS.Signals): void {
  if (interrupted) return;
  interrupted = true;
  void Promise.allSettled([...live].map((workspace) => workspace[Symbol.asyncDispose]())).then(() => {
    for (const each of signals) process.off(each, onSignal);
    process.kill(process.pid, name);
  });
}

/** Start time of a process in clock ticks (proc(5), field 22 of stat): with the pid it identifies a process uniquely. */
async function startTimeOf(pid: number): Promise<string | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
}
