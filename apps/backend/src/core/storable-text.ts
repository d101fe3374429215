/** JSON escapes of characters that a database may not store. */
const suspicious = /\\u(?:0000|d[89a-f])/i;

/**
 * A fast pre-check for {@link findUnstorable}: whether the JSON text may hold such a character. It finds no number.
 * @param json as received, decoded from UTF-8.
 */
export const mayBeUnstorable = (json: string): boolean => suspicious.test(json);

/**
 * Finds what cannot be stored: PostgreSQL has no U+0000 in texts (manual, section 8.3), a lone surrogate is not a character (RFC 8259,
 * section 8.2), and a number beyond every number, such as 1e400, is read as infinite, which JSON has no form for.
 * @param largest number, without its sign.
 * @returns JSON pointer (RFC 6901) of the first such value or key; null: none. Does not recurse, however deep the value is.
 */
export function findUnstorable(value: unknown, largest = Number.MAX_VALUE): string | null {
  const rest: { value: unknown; pointer: string }[] = [{ value, pointer: '' }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { value: found, pointer } = next;
    if (typeof found === 'string' && isUnstorable(found)) return pointer;
    if (typeof found === 'number' && Math.abs(found) > largest) return pointer;
    if (typeof found !== 'object' || found === null) continue;
    for (const [key, inner] of Object.entries(found)) {
      if (isUnstorable(key)) return pointer;
      if (typeof inner === 'string' || typeof inner === 'number' || (typeof inner === 'object' && inner !== null)) {
        rest.push({ value: inner, pointer: `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}` });
      }
    }
  }
  return null;
}

const isUnstorable = (text: string): boolean => text.includes('\0') || !text.isWellFormed();
