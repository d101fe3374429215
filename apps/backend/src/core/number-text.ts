/** Numbers that devices send as text, as many sketches do. */

/** Decimal, also with an exponent. The form is checked first: `Number` reads "", "0x1F" and "Infinity" too. */
const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
/** A comma that can only be a decimal one: behind a thousands separator there are three digits, and before it no 0. */
const decimalComma = /^[+-]?(?:\d+,(?:\d{1,2}|\d{4,})|0,\d+)$/;

/** Null: it is no number, or none that is exact: digits are not lost silently (ADR 23). */
function numberIn(text: string): number | null {
  const trimmed = text.trim();
  const written = decimalComma.test(trimmed) ? trimmed.replace(',', '.') : trimmed;
  if (!decimal.test(written)) return null;
  const value = Number(written);
  if (!Number.isFinite(value)) return null;
  const isRounded = Math.abs(value) > Number.MAX_SAFE_INTEGER && !/[eE.]/.test(written);
  return isRounded ? null : value;
}

/** Null for what is neither a number nor a text of one. */
export const numberOf = (value: unknown): number | null => {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? numberIn(value) : null;
};
