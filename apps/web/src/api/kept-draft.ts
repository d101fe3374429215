import { useEffect, useRef, useState } from 'react';
import { useServices, useUser } from './services.ts';

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
