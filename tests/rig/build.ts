import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { tell } from './debian.ts';

const root = join(import.meta.dirname, '../..');
/** The agent as it ships, for this machine. */
export const agentExecutable = executableIn('agent');
/** The same agent on the process engine. */
export const agentExecutableWithoutDocker = executableIn('agent-without-docker');

const isBuilt = process.env['STATION_BUILT'] === 'yes';

function executableIn(target: string): string {
  return join(root, 'dist', target, `station-agent-linux-${process.arch}`);
}

/** Environment of tests that run at the same time: what they need in `dist/` was built before. */
export const builtEnv: Record<string, string> = { STATION_BUILT: 'yes' };

/** Builds into `dist/`, unless that was done for all tests of this run. @throws when it does not build. */
export async function buildForTests(
  ...targets: ('agent' | 'agent-without-docker' | 'backend' | 'web')[]
): Promise<void> {
  if (isBuilt) return;
  tell(`Building ${targets.join(', ')}`);
  // With the whole environment, because the build needs npm.
  const child = spawn(process.execPath, [join(root, 'scripts/build.ts'), ...targets], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.pipe(process.stderr);
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`npm run build -- ${targets.join(' ')} failed (${code})`);
}
