import { writeFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';

/**
 * Gives a process and its later children priority over all other programs, until disposed. Where the kernel groups
 * processes by session, the whole session gets it (sched(7), "The autogroup feature").
 * @returns null without permission: root is required.
 */
export async function raisePriority(pid: number, nice = -15): Promise<AsyncDisposable | null> {
  const before = getPriority(pid);
  try {
    setPriority(pid, nice);
  } catch {
    return null;
  }
  // Not every kernel has this file.
  const setSession = (value: number): Promise<void> =>
    writeFile(`/proc/${pid}/autogroup`, String(value)).catch(() => undefined);
  await setSession(nice);
  return {
    [Symbol.asyncDispose]: async () => {
      await setSession(0);
      try {
        setPriority(pid, before);
      } catch {
        // It has ended.
      }
    },
  };
}
