/**
 * Keys of the object that a JSON text consists of, in their order, one that is there twice twice: JSON.parse keeps only the last of them.
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
