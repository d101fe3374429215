import type { Memory } from './wifi-facts.ts';

/** First and longest pause after a step that did not work, in milliseconds. */
const pauses: Record<string, readonly [number, number]> = {
  reconcile: [1000, 30_000],
  write_intent: [30_000, 300_000],
  clear_intent: [30_000, 300_000],
  start_hotspot: [5000, 60_000],
  stop_hotspot: [2000, 30_000],
  stop_proxy: [10_000, 60_000],
  start_proxy: [5000, 300_000],
  open_portal: [2000, 30_000],
  close_portal: [2000, 30_000],
  keep_candidate: [10_000, 300_000],
};
const usual = [5000, 60_000] as const;

const pauseMs = (step: string, failures: number): number => {
  const [first, longest] = pauses[step] ?? usual;
  return Math.min(first * 2 ** (failures - 1), longest);
};

/** Memory after a step that did not work: it waits, longer each time, and holds up no other. */
export function noteFailure(memory: Memory, step: string, nowMs: number): Memory {
  const failures = (memory.retries[step]?.failures ?? 0) + 1;
  return { ...memory, retries: { ...memory.retries, [step]: { failures, dueMs: nowMs + pauseMs(step, failures) } } };
}

export function noteSuccess(memory: Memory, step: string): Memory {
  if (!(step in memory.retries)) return memory;
  return { ...memory, retries: Object.fromEntries(Object.entries(memory.retries).filter(([kind]) => kind !== step)) };
}
