import { useRef, useState } from 'react';
import type { ActionData, ConditionData, TriggerData } from '@station/protocol/automation-flow';
import type { Sentence } from './sentence.ts';

/** A part that may not be chosen yet; the key stays with it wherever it is moved to. */
export type Part<Data> = { key: number; data: Data | null };
export type PartsOf<Data> = {
  parts: readonly Part<Data>[];
  add(): void;
  change(key: number, data: Data): void;
  remove(key: number): void;
  /** Changes places with its neighbour. */
  move(key: number, by: -1 | 1): void;
};

/** A sentence that is being built. */
export type Draft = {
  triggers: PartsOf<TriggerData>;
  conditions: PartsOf<ConditionData>;
  actions: PartsOf<ActionData>;
};

export function useDraft(from: Sentence | null): Draft {
  return {
    triggers: useParts<TriggerData>(from?.triggers ?? [], 1),
    conditions: useParts<ConditionData>(from?.conditions ?? [], 0),
    actions: useParts<ActionData>(from?.actions ?? [], 1),
  };
}

function useParts<Data>(from: readonly Data[], atLeast: number): PartsOf<Data> {
  const keys = useRef(0);
  const part = (data: Data | null): Part<Data> => ({ key: ++keys.current, data });
  const [parts, setParts] = useState<Part<Data>[]>(() => {
    const given = from.map(part);
    return given.length < atLeast ? [part(null)] : given;
  });
  return {
    parts,
    add: () => setParts([...parts, part(null)]),
    change: (key, data) => setParts(parts.map((one) => (one.key === key ? { key, data } : one))),
    remove: (key) => setParts(parts.filter((one) => one.key !== key)),
    move: (key, by) => {
      const at = parts.findIndex((one) => one.key === key);
      const moved = parts[at];
      const neighbour = parts[at + by];
      if (!moved || !neighbour) return;
      setParts(parts.map((one, place) => (place === at ? neighbour : place === at + by ? moved : one)));
    },
  };
}

export const chosen = <Data>({ parts }: PartsOf<Data>): Data[] =>
  parts.flatMap(({ data }) => (data === null ? [] : [data]));
