import { useEffect, useRef, useState } from 'react';
import type { Memory } from './memory.ts';
import { useServices, useUser } from './services.ts';

/** What somebody was editing and has not saved, in this browser: it outlives the page, a reload and the end of the session. */
export type Drafts = {
  /** Null: there is none. */
  get(key: string): unknown;
  /** Null forgets it. Only the latest 20 are kept. */
  set(key: string, value: unknown): void;
  /** Forgets all of them. */
  clear(): void;
};

const most = 20;

type Kept = readonly (readonly [key: string, value: unknown])[];

export function createDrafts(memory: Memory): Drafts {
  /** Where storage is forbidden, they live as long as the page. */
  let kept = read(memory) ?? [];
  const keep = (drafts: Kept): void => {
    kept = drafts.slice(-most);
    memory.set('drafts', kept.length === 0 ? null : JSON.stringify(kept));
  };
  return {
    get: (key) => kept.find(([one]) => one === key)?.[1] ?? null,
    set: (key, value) => {
      // Another tab may have kept its own meanwhile.
      const others = (read(memory) ?? kept).filter(([one]) => one !== key);
      keep(value === null ? others : [...others, [key, value]]);
    },
    clear: () => keep([]),
  };
}

function read(memory: Memory): Kept | null {
  try {
    const found = JSON.parse(memory.get('drafts') ?? 'null') as unknown;
    return Array.isArray(found) ? found.filter((entry): entry is Kept[number] => Array.isArray(entry)) : null;
  } catch {
    return null;
  }
}

export type KeptDraft<T> = {
  /** What was kept when the page opened; null: nothing. */
  found: T | null;
  keep(value: T | null): void;
  /** Saved, or not wanted any more: from now on nothing is kept. */
  end(): void;
};

/**
 * @param place what is edited, e.g. `scene/4711`; everybody has drafts of their own.
 * @param isDraft an earlier release may have kept something else there.
 */
export function useKeptDraft<T>(place: string, isDraft: (kept: unknown) => kept is T): KeptDraft<T> {
  const { drafts } = useServices();
  const key = `${useUser().id}/${place}`;
  const isOver = useRef(false);
  const [found] = useState(() => {
    const kept = drafts.get(key);
    return isDraft(kept) ? kept : null;
  });
  return {
    found,
    keep: (value) => {
      if (!isOver.current) drafts.set(key, value);
    },
    end: () => {
      isOver.current = true;
      drafts.set(key, null);
    },
  };
}

/** Keeps it while it differs from what is saved. */
export function useKeeping<T>({ keep }: KeptDraft<T>, value: T, isChanged: boolean): void {
  const text = isChanged ? JSON.stringify(value) : null;
  useEffect(() => {
    keep(text === null ? null : (JSON.parse(text) as T));
    // What is kept follows the text alone.
  }, [text]);
}

/** Whether there is a draft. */
export function useHasDraft(place: string): boolean {
  const { drafts } = useServices();
  return drafts.get(`${useUser().id}/${place}`) !== null;
}
