import { readFile } from 'node:fs/promises';

/** The kernel's id of this boot (proc(5), `/proc/sys/kernel/random/boot_id`): a different one means that the machine restarted. */
export async function readBootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}
