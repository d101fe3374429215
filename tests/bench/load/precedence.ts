import { writeFile } from 'node:fs/promises';
import { getPriority, setPriority } from 'node:os';

/**
 * Lets a process go before whatever else runs on the machine, and what it starts from now on; its whole session too where the kernel groups
 * processes by session (sched(7), "The autogroup feature"), until disposed.
 * @returns null when that is not allowed: root is needed.
 */
export async function takePrecedence(pid: number, nice = -15): Promise<AsyncDisposable | null> {
  const before = getPriority(pid);
  try {
    setPriority(pid, nice);
  } catch {
    return null;
  }
  // Not every kernel has it.
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
