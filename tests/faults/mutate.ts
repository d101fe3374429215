/** Seeded mutations of inputs: of their bytes, and of their structure where they are JSON. */
export type Random = () => number;

const pick = <T>(random: Random, items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;

const nasty: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  0.1,
  '',
  ' ',
  '../x',
  '--privileged',
  'a:1\n',
  '\u0000',
  '𝒳'.repeat(40),
  'x'.repeat(5000),
  '1.2.3',
  'v999999999999999999999.0.0',
  '__proto__',
  'constructor',
  [],
  {},
  [[[[]]]],
  { __proto__: null },
  { toString: 1 },
];

const hostileText = [
  '{',
  '}',
  '[',
  ']',
  '"',
  '\\',
  ',',
  ':',
  '\u0000',
  '\ufeff',
  '\ud800',
  '1e999',
  '"__proto__":',
  '\n',
  '=',
  '#',
  "'",
];

/** Makes one to four changes to a text: characters, ranges or tokens. */
export function mutateText(text: string, random: Random): string {
  let result = text;
  for (let changes = 1 + Math.floor(random() * 4); changes > 0; changes -= 1) {
    const at = Math.floor(random() * (result.length + 1));
    const length = Math.floor(random() * Math.min(12, result.length - at + 1));
    const kind = Math.floor(random() * 5);
    if (kind === 0)
      result = result.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + result.slice(at + 1);
    else if (kind === 1) result = result.slice(0, at) + result.slice(at + length);
    else if (kind === 2) result = result.slice(0, at) + pick(random, hostileText) + result.slice(at);
    else if (kind === 3)
      result = result.slice(0, at) + result.slice(at, at + length).repeat(2) + result.slice(at + length);
    else result = result.slice(0, at);
  }
  return result;
}

/** Replaces, removes, adds or renames something at a random place in a copy of a JSON value. */
export function mutateJson(value: unknown, random: Random): unknown {
  if (typeof value !== 'object' || value === null || random() < 0.15) return pick(random, nasty);
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...(value as unknown[])] : { ...value };
  const keys = Object.keys(copy);
  const record = copy as Record<string, unknown>;
  const key = keys.length === 0 ? 'x' : pick(random, keys);
  const kind = random();
  if (kind < 0.55) record[key] = mutateJson(record[key], random);
  else if (kind < 0.7) delete record[key];
  else if (kind < 0.85)
    Object.defineProperty(copy, pick(random, ['__proto__', 'constructor', `${key} `, key.toUpperCase(), 'added']), {
      value: pick(random, nasty),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  else record[key] = typeof record[key] === 'string' ? mutateText(record[key], random) : pick(random, nasty);
  return copy;
}

/** The text of a mutated document: half of the results are still JSON, half are damaged. */
export function mutateDocument(seed: unknown, random: Random): string {
  const changed = random() < 0.6 ? mutateJson(seed, random) : seed;
  const text = JSON.stringify(changed);
  return random() < 0.5 ? text : mutateText(text, random);
}

/** The bytes of a text, sometimes with one that is not UTF-8. */
export function toBytes(text: string, random: Random): Uint8Array {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > 0 && random() < 0.05)
    bytes[Math.floor(random() * bytes.length)] = 0x80 + Math.floor(random() * 128);
  return bytes;
}
