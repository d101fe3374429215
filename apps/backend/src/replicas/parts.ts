/** PostgreSQL takes 7,999 bytes in a notification (its documentation, NOTIFY); the rest is for what stands before the text. */
export const maxPartLength = 7_800;

/** A text of any length as notifications: `<name> <number> <count> <piece>`, all ASCII. Pure. */
export function toParts(name: string, text: string): string[] {
  const ascii = text.replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const count = Math.max(1, Math.ceil(ascii.length / maxPartLength));
  return Array.from(
    { length: count },
    (_, index) => `${name} ${index} ${count} ${ascii.slice(index * maxPartLength, (index + 1) * maxPartLength)}`,
  );
}

export type Joined = { name: string; text: string };

export type Joiner = {
  /** @returns the whole text with its last piece; null before that, and for pieces whose beginning was not heard. */
  add(part: string): Joined | null;
  /** Forgets what was begun: the rest will not come. */
  clear(): void;
};

/** Puts notifications together again. Those of one transaction come in order and with none of another between them. */
export function createJoiner(): Joiner {
  let open: { name: string; pieces: string[] } | null = null;
  return {
    add: (part) => {
      const [name = '', number = '', count = ''] = part.split(' ', 3);
      const piece = part.slice(name.length + number.length + count.length + 3);
      if (number === '0') open = { name, pieces: [] };
      if (open === null || open.name !== name || open.pieces.length !== Number(number)) return null;
      open.pieces.push(piece);
      if (open.pieces.length < Number(count)) return null;
      const text = open.pieces.join('');
      open = null;
      return { name, text };
    },
    clear: () => {
      open = null;
    },
  };
}
