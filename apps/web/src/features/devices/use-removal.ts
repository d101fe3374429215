import { useEffect, useRef, useState } from 'react';
import type { Device } from '@station/protocol/devices';
import { devicesKey } from '../../api/devices.ts';
import { useServices } from '../../api/services.ts';
import { callForEach, type Failed } from './many-calls.ts';

/** Until then nothing is sent to the station. */
const graceS = 10;

export type Removal = {
  /** `waiting`: can be undone; `sending`: on its way. */
  state:
    | { kind: 'none' }
    | { kind: 'waiting'; ids: readonly string[]; leftS: number }
    | { kind: 'sending'; ids: readonly string[]; done: number }
    | { kind: 'failed'; failed: Failed };
  begin(ids: readonly string[]): void;
  undo(): void;
  /** Does it now. */
  commit(): void;
  /** While somebody is at the note, its time stands still. */
  hold(isHeld: boolean): void;
};

/**
 * Removes devices after a time in which it can be undone. Leaving the page, closing it or logging out keeps the devices: what was not sent
 * was not done.
 */
export function useRemoval(): Removal {
  const { session, queries } = useServices();
  const [state, setState] = useState<Removal['state']>({ kind: 'none' });
  const isHeld = useRef(false);
  const waiting = state.kind === 'waiting' ? state : null;
  const send = async (ids: readonly string[]): Promise<void> => {
    setState({ kind: 'sending', ids, done: 0 });
    const failed = await callForEach(
      ids,
      async (id) => {
        await session.call('DELETE /api/devices/:id', { params: { id } });
        queries.setQueryData<readonly Device[]>(devicesKey, (all) => all?.filter((one) => one.id !== id));
      },
      (done) => setState({ kind: 'sending', ids, done }),
    );
    setState(failed ? { kind: 'failed', failed } : { kind: 'none' });
  };
  useEffect(() => {
    if (waiting === null) return undefined;
    const timer = setTimeout(() => {
      if (waiting.leftS <= 1) void send(waiting.ids);
      else setState({ ...waiting, leftS: waiting.leftS - (isHeld.current ? 0 : 1) });
    }, 1_000);
    return () => clearTimeout(timer);
  });
  return {
    state,
    begin: (ids) => setState({ kind: 'waiting', ids, leftS: graceS }),
    undo: () => setState({ kind: 'none' }),
    commit: () => waiting && void send(waiting.ids),
    hold: (held) => {
      isHeld.current = held;
    },
  };
}
