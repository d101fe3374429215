import { randomUUID } from 'node:crypto';

export type ExactNumbers = {
  /**
   * Parses JSON-RPC without a loss of digits: an id that a number does not hold as it is written becomes a text of ours, every other integer
   * beyond 2^53 the text of its digits. @returns undefined when it is not JSON.
   */
  parse(text: string): unknown;
  /** Writes such ids as they came. */
  restore(text: string): string;
};

/** The fast path: nothing else can have a digit that a number loses. */
const mayLoseDigits = /\d{16}|"id"\s*:\s*(?:-0|-?\d+[.eE])/;

export function createExactNumbers(): ExactNumbers {
  /** Nobody else can write such an id. */
  const prefix = `exact-${randomUUID()}:`;
  const written = new RegExp(`"${prefix}([-+.0-9eE]+)"`, 'g');
  let hasExactIds = false;
  function exactly(this: unknown, key: string, value: unknown, context?: { source?: string }): unknown {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined) return value;
    const isExact = String(value) === source && Math.abs(value) <= Number.MAX_SAFE_INTEGER;
    if (isExact) return value;
    if (key === 'id' && isCall(this)) {
      hasExactIds = true;
      return `${prefix}${source}`;
    }
    // With an exponent or a fraction it is a measurement, whose last digits do not count.
    return Number.isFinite(value) && (Math.abs(value) <= Number.MAX_SAFE_INTEGER || /[.eE]/.test(source))
      ? value
      : source;
  }
  return {
    parse: (text) => {
      try {
        return (mayLoseDigits.test(text) ? JSON.parse(text, exactly) : JSON.parse(text)) as unknown;
      } catch {
        return undefined;
      }
    },
    restore: (text) => (hasExactIds ? text.replace(written, '$1') : text),
  };
}

const isCall = (holder: unknown): boolean => typeof holder === 'object' && holder !== null && 'jsonrpc' in holder;
