import type { Memory } from './memory.ts';

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
