/** Small things this browser remembers between visits. Never a token. */
export type Memory = { get(key: MemoryKey): string | null; set(key: MemoryKey, value: string | null): void };
type MemoryKey =
  | 'language'
  | 'signed-in-before'
  | 'read-result'
  | 'read-firmware'
  | 'read-join'
  | 'refresh-lease'
  | 'theme'
  | 'drafts';

/** Storage may be forbidden or full: then the page works without saved values. */
export function createMemory(storage: () => Storage): Memory {
  return {
    get: (key) => {
      try {
        return storage().getItem(`station.${key}`);
      } catch {
        return null;
      }
    },
    set: (key, value) => {
      try {
        if (value === null) storage().removeItem(`station.${key}`);
        else storage().setItem(`station.${key}`, value);
      } catch {
        // Not saved: storage is forbidden or full.
      }
    },
  };
}
