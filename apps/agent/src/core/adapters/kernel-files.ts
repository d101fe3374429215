import { readdir, readFile } from 'node:fs/promises';

/** Folders of the kernel's virtual files; other folders in tests. */
export type KernelPaths = { sys: string; proc: string };
export const kernelPaths: KernelPaths = { sys: '/sys', proc: '/proc' };

/** Names in a folder; none when it is not there. */
export const names = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

/** Trimmed content; empty when unreadable: the kernel lacks the feature, or the device has just gone. */
export const content = (path: string): Promise<string> =>
  readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => '',
  );

/** The kernel's id of this boot (proc(5), `/proc/sys/kernel/random/boot_id`): a different one means that the machine restarted. */
export async function readBootId(): Promise<string> {
  return (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim();
}
