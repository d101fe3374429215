import type { ReactNode } from 'react';
import { type Tone, ToneDisc } from './tone.tsx';

/** A whole page that has one thing to say. */
export function Centered({
  tone,
  title,
  help,
  children,
}: {
  tone: Tone;
  title: string;
  help: string;
  children?: ReactNode;
}) {
  return (
    <main className="mx-auto flex min-h-dvh max-w-md flex-col items-center justify-center gap-4 p-6 text-center">
      <ToneDisc tone={tone} large />
      <div role="status">
        <h1 className="text-title font-strong">{title}</h1>
        <p className="mt-2 text-ink-soft">{help}</p>
      </div>
      {children}
    </main>
  );
}
