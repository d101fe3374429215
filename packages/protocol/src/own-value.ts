/**
 * The value that the record itself has under a key from outside; undefined for what every object inherits (`constructor`, `__proto__`).
 * `tests/architecture/foreign-keys.test.ts` finds reads without it.
 */
export const ownValue = <T>(record: Readonly<Record<string, T>> | null | undefined, key: string): T | undefined =>
  record !== null && record !== undefined && Object.hasOwn(record, key) ? record[key] : undefined;

/** Whether every object has a property of this name: it is refused as a key of a state, an event or a description. */
export const isInherited = (key: string): boolean => key in Object.prototype;

/** Writes a value under a key from outside, also under `__proto__`, which would replace what the record inherits. */
export const setOwnValue = <T>(record: Record<string, T>, key: string, value: T): void =>
  void Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true });
