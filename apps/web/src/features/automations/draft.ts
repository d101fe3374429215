import { useRef, useState } from 'react';
import type { InstantCondition, TriggerData } from '@station/protocol/automation-flow';
import type { Sentence, StepData } from './sentence.ts';

/* A sentence that is being built. */

/** Where what is not saved is kept. @param id null: a new automation. */
export const placeOfDraft = (id: string | null): string => `automation/${id ?? 'new'}`;

/** A part that may not be chosen yet; its key stays the same when it moves. */
export type Part<Data> = { key: number; data: Data | null };
export type PartsOf<Data> = {
  parts: readonly Part<Data>[];
  /** Fewer parts than this are not possible. */
  atLeast: number;
  add(): void;
  change(key: number, data: Data): void;
  remove(key: number): void;
  /** Swaps it with its neighbour. */
  move(key: number, by: -1 | 1): void;
};

/** Where a part can be moved; null for the only one. */
export function movesOf<Data>({ parts, move }: PartsOf<Data>, index: number) {
  const part = parts[index];
  if (part === undefined || parts.length < 2) return null;
  return {
    up: index === 0 ? null : () => move(part.key, -1),
    down: index === parts.length - 1 ? null : () => move(part.key, 1),
  };
}

export type Draft = {
  triggers: PartsOf<TriggerData>;
  conditions: PartsOf<InstantCondition>;
  actions: PartsOf<StepData>;
  otherwise: PartsOf<StepData>;
};

export function useDraft(from: Sentence | null): Draft {
  return {
    triggers: useParts<TriggerData>(from?.triggers ?? [], 1),
    conditions: useParts<InstantCondition>(from?.conditions ?? [], 0),
    actions: useParts<StepData>(from?.actions ?? [], 1),
    otherwise: useParts<StepData>(from?.otherwise ?? [], 0),
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
    atLeast,
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

/** What is chosen so far. Without conditions nothing is otherwise. */
export const sentenceIn = ({ triggers, conditions, actions, otherwise }: Draft): Sentence => ({
  triggers: chosen(triggers),
  conditions: chosen(conditions),
  actions: chosen(actions),
  otherwise: conditions.parts.length === 0 ? [] : chosen(otherwise),
});

/** The parts that are on the page. */
export const shownParts = ({ triggers, conditions, actions, otherwise }: Draft) => [
  ...triggers.parts,
  ...conditions.parts,
  ...actions.parts,
  ...(conditions.parts.length === 0 ? [] : otherwise.parts),
];

const chosen = <Data>({ parts }: PartsOf<Data>): Data[] => parts.flatMap(({ data }) => (data === null ? [] : [data]));
