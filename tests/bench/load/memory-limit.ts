import { existsSync } from 'node:fs';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Workspace } from '../../rig/workspace.ts';

/**
 * Makes a control group with a memory limit. Call it before the start of what goes in: it is removed last.
 * @param megabytes MiB.
 * @returns puts a process in, and says the limit. Null: this machine has no such control group.
 */
export async function makeMemoryLimit(
  workspace: Workspace,
  { name, megabytes }: { name: string; megabytes: number },
): Promise<(pid: number) => Promise<number | null>> {
  const [root, file] = existsSync('/sys/fs/cgroup/memory')
    ? ['/sys/fs/cgroup/memory', 'memory.limit_in_bytes']
    : ['/sys/fs/cgroup', 'memory.max'];
  const group = join(root, `station-${name}-${process.pid}`);
  workspace.own({ [Symbol.asyncDispose]: () => rmdir(group).catch(() => undefined) });
  return async (pid) => {
    try {
      await mkdir(group);
      await writeFile(join(group, file), String(megabytes * 1024 * 1024));
      await writeFile(join(group, 'cgroup.procs'), String(pid));
      return megabytes;
    } catch {
      return null;
    }
  };
}
