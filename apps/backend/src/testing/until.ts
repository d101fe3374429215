import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until `condition` holds; gives up, loudly, after far longer than it can take. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`Waited in vain until ${what}`);
    await sleep(10);
  }
}
