import { ownValue } from '@station/protocol/own-value';
import type { State } from '../core/device-state.ts';

/** A change of a value that is not a number. */
export type TransitionRow = {
  deviceId: string;
  capability: string;
  at: number;
  /** JSON; null: from now on a value that is not kept. */
  value: string | null;
  /** 1: the first status of a batch, which counts only if the stored status is another one. */
  unsure: 0 | 1;
  /** Milliseconds that a change has to itself. */
  step: number;
  /** Its place in the batch. */
  place: number;
};

/** The capability of "online" and "offline". No capability of a device has this name. */
export const statusCapability = '';

/** Longest kept text, as JSON in bytes: that of an enum, as a rule. Longer texts are descriptions, not states. */
const maxTextBytes = 66;

/** JSON of a boolean or a short text; null: numbers have samples, and other values no history. */
export function transitionValue(value: unknown): string | null {
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'string' || value.length > maxTextBytes) return null;
  const json = JSON.stringify(value);
  return Buffer.byteLength(json) <= maxTextBytes ? json : null;
}

/** Changes that follow each other faster share a row at the end of such a time: otherwise one device could fill the disk. */
const stepMs = 1_000;
/** The same for reports that are over the rate of their device's history. */
export const floodStepMs = 10_000;

/** Collects the transitions of a batch of reports. */
export type TransitionFold = {
  /** @param before the state before the report. @param taken the values that the report changed. */
  state(report: { deviceId: string; at: number; isOverRate?: boolean }, before: State, taken: State): void;
  status(deviceId: string, at: number, status: 'online' | 'offline'): void;
  /** In order of arrival. */
  rows(): TransitionRow[];
};

export function createTransitionFold(): TransitionFold {
  const latest = new Map<string, TransitionRow>();
  const rows: TransitionRow[] = [];
  const statuses = new Map<string, 'online' | 'offline'>();
  const add = (row: TransitionRow): void => {
    const key = JSON.stringify([row.deviceId, row.capability]);
    const known = latest.get(key);
    if (known !== undefined && known.unsure === 0 && Math.abs(row.at - known.at) < row.step) {
      const isWithin = row.at <= known.at;
      row.at = isWithin ? known.at : row.at - (row.at % row.step) + row.step - 1;
      if (row.at === known.at) {
        known.value = row.value;
        return;
      }
    }
    latest.set(key, row);
    rows.push(row);
  };
  return {
    state: ({ deviceId, at, isOverRate = false }, before, taken) => {
      for (const capability of Object.keys(taken)) {
        const was = ownValue(before, capability);
        const is = ownValue(taken, capability);
        // The fast path: most values are numbers, or as before.
        if (was === is || (typeof is === 'number' && (typeof was === 'number' || was === undefined))) continue;
        const value = transitionValue(is);
        if (value === transitionValue(was)) continue;
        const step = isOverRate ? floodStepMs : stepMs;
        add({ deviceId, capability, at, value, unsure: 0, step, place: rows.length });
      }
    },
    status: (deviceId, at, status) => {
      const last = statuses.get(deviceId);
      statuses.set(deviceId, status);
      if (last === status) return;
      const unsure = last === undefined ? 1 : 0;
      const value = JSON.stringify(status);
      add({ deviceId, capability: statusCapability, at, value, unsure, step: 1, place: rows.length });
    },
    rows: () => rows,
  };
}
