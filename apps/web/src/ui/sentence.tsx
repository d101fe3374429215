import type { ReactNode } from 'react';

/** A translated sentence with an element in it: `text` puts the mark where the element belongs, wherever the language wants it. */
export function Sentence({ text, slot }: { text: (mark: string) => string; slot: ReactNode }) {
  const mark = '\u2063';
  const [before, ...after] = text(mark).split(mark);
  return (
    <>
      {before}
      {slot}
      {after.join('')}
    </>
  );
}
