import type { QueryClient } from '@tanstack/react-query';
import type { LiveService } from '../../api/live.ts';

/** The key of all automation data, so that one event makes all of it be read again. */
export const automationsKey = ['automations'];
export const automationKey = (id: string): readonly unknown[] => [...automationsKey, id];
export const runsKey = (id: string): readonly unknown[] => [...automationsKey, id, 'runs'];

/** While runs follow each other quickly, they are read at most this often. */
const gatherMs = 500;

/** A removed scene breaks the automations that run it. */
const relevant: readonly string[] = ['hello', 'automation_run', 'automation_changed', 'scenes_changed'];

/** Reads automations and their runs again after each change event and each handshake: events may have been missed. */
export function followAutomations(live: LiveService, queries: QueryClient): void {
  let due: ReturnType<typeof setTimeout> | undefined;
  live.onMessage(({ type }) => {
    if (!relevant.includes(type)) return;
    due ??= setTimeout(() => {
      due = undefined;
      void queries.invalidateQueries({ queryKey: automationsKey });
    }, gatherMs);
  });
}
