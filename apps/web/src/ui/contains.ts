/** Whether each typed word is in the text, without regard to case and accents. */
export function contains(text: string, typed: string): boolean {
  const searched = plain(text);
  return plain(typed)
    .split(/\s+/)
    .every((word) => searched.includes(word));
}

const plain = (text: string): string => text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
