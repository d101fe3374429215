/**
 * Keys of the outermost object of a JSON text, in order. A duplicate key appears twice; JSON.parse keeps only the last one.
 * @param text valid JSON whose outermost value is an object.
 */
export function topLevelKeys(text: string): string[] {
  const keys: string[] = [];
  let depth = 0;
  let expectsKey = false;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],]/gs)) {
    if (token === '{' || token === '[') {
      depth += 1;
      expectsKey = depth === 1;
    } else if (token === '}' || token === ']') {
      depth -= 1;
    } else if (token === ',') {
      expectsKey = depth === 1;
    } else if (depth === 1 && expectsKey) {
      keys.push(JSON.parse(token) as string);
      expectsKey = false;
    }
  }
  return keys;
}

/** An object without its keys whose value is null: many programs write an absent key so. Other values stay as they are. */
export const withoutNulls = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null))
    : value;
