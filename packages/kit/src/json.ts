import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';

/** @returns the value of a JSON text; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @returns the value of a JSON text that has this form; null for any other text, and for null. */
export function parseAs<T extends TSchema>(schema: T, text: string | null): Static<T> | null {
  const value = text === null ? undefined : parseJson(text);
  return Value.Check(schema, value) ? value : null;
}

/** @returns the object that a JSON text is; null for any other text. An array is one too. */
export function parseObject(text: string): Record<string, unknown> | null {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
}

/** @returns a number, also of its text; null for any other value, such as an empty text or `nan`. */
export function numberFrom(value: unknown): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : null;
}
