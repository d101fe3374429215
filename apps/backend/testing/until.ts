import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `condition` is true. Fails after a time limit that is far longer than needed. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`This did not happen within a minute: ${what}`);
    await sleep(10);
  }
}
