import { readFile } from 'node:fs/promises';
import { uptime } from 'node:os';

/** What tells one start of the machine from another. */
export type Boot = {
  /** Another one after each start of the machine. */
  id: string;
  /** Milliseconds since the machine started, also while it sleeps; the same for every process. */
  uptimeMs(): number;
};

/**
 * Boot id and uptime of the kernel (proc(5): `/proc/sys/kernel/random/boot_id`, `/proc/uptime`); a container sees those of its host.
 * Without such a file each process counts as a boot.
 * @param otherwise the id then.
 */
export async function readBoot(otherwise: () => string): Promise<Boot> {
  const text = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => otherwise());
  return { id: text.trim(), uptimeMs: () => Math.round(uptime() * 1000) };
}
