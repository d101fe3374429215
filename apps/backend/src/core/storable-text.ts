/** Escapes in JSON that may stand for a character which a database cannot keep. */
const suspicious = /\\u(?:0000|d[89a-f])/i;

/**
 * Whether text that is JSON may hold what {@link findUnstorable} looks for; quick, for what comes often.
 * @param json as it was received, decoded from UTF-8: what is no character there has become U+FFFD.
 */
export const mayBeUnstorable = (json: string): boolean => suspicious.test(json);

/**
 * Looks for text that not every database keeps: PostgreSQL has no U+0000 in its texts (its manual, section 8.3), and half of a surrogate pair
 * is no character (RFC 8259, section 8.2).
 * @returns JSON pointer (RFC 6901) of the first value or key that holds such; null: none. Does not recurse, however deep the value is.
 */
export function findUnstorable(value: unknown): string | null {
  const rest: { value: unknown; pointer: string }[] = [{ value, pointer: '' }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { value: found, pointer } = next;
    if (typeof found === 'string' && isUnstorable(found)) return pointer;
    if (typeof found !== 'object' || found === null) continue;
    for (const [key, inner] of Object.entries(found)) {
      if (isUnstorable(key)) return pointer;
      if (typeof inner === 'string' || (typeof inner === 'object' && inner !== null)) {
        rest.push({ value: inner, pointer: `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}` });
      }
    }
  }
  return null;
}

const isUnstorable = (text: string): boolean => text.includes('\0') || !text.isWellFormed();
