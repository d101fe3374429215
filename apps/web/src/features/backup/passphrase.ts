/** Without letters and digits that look alike. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ23456789';
const groups = 6;
const groupLength = 4;

/** 24 of 28 letters in groups: 115 bits. @param random fills bytes, as `crypto.getRandomValues`. */
export function suggestPassphrase(random: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array): string {
  const taken: string[] = [];
  while (taken.length < groups * groupLength) {
    for (const byte of random(new Uint8Array(64))) {
      // Of 256 values the last 4 would make some letters more likely.
      const letter = byte < 252 ? letters[byte % letters.length] : undefined;
      if (letter !== undefined && taken.length < groups * groupLength) taken.push(letter);
    }
  }
  return Array.from({ length: groups }, (_, n) => taken.slice(n * groupLength, (n + 1) * groupLength).join('')).join(
    '-',
  );
}
