import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { tell } from './debian.ts';

const root = join(import.meta.dirname, '../..');
const isBuilt = process.env['STATION_BUILT'] === 'yes';

type Target = 'agent' | 'agent-without-docker' | 'backend' | 'vstation-programs' | 'web';

/** The agent as it ships, for this machine. */
export const agentExecutable = executableIn('agent');
/** The same agent on the process engine. */
export const agentExecutableWithoutDocker = executableIn('agent-without-docker');

/** The backend as it ships; Node runs it, and starts it in a third of the time that its sources take. */
export const backendProgram = join(root, 'dist/backend/station-backend.mjs');

function executableIn(target: Target): string {
  return join(root, 'dist', target, `station-agent-linux-${process.arch}`);
}

/** Environment of tests that run at the same time: what they need in `dist/` was built before. */
export const builtEnv: Record<string, string> = { STATION_BUILT: 'yes' };

const builds = new Map<Target, Promise<void>>();

/** Builds into `dist/`, each target once per process, unless that was done for all tests of this run. @throws when it does not build. */
export async function buildForTests(...targets: Target[]): Promise<void> {
  if (isBuilt) return;
  const missing = targets.filter((target) => !builds.has(target));
  if (missing.length > 0) {
    tell(`Building ${missing.join(', ')}`);
    const building = runBuild(missing);
    for (const target of missing) builds.set(target, building);
  }
  for (const target of targets) await builds.get(target);
}

/** `npm run build -- ARGS…` in a copy of the repository, with its progress on standard error. @throws when it fails. */
export async function runBuild(args: readonly string[], folder = root): Promise<void> {
  // With the whole environment, because the build needs npm.
  const child = spawn(process.execPath, [join(folder, 'scripts/build.ts'), ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.pipe(process.stderr);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`npm run build -- ${args.join(' ')} failed (${code})`);
}
