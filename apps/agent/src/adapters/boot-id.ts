import { readFile } from 'node:fs/promises';

/** The kernel's id of this boot (proc(5), `/proc/sys/kernel/random/boot_id`): another one means that the machine went down. */
export async function readBootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}
