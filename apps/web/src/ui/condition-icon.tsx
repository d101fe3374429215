import { Info } from 'lucide-react';
import { type Tone, ToneIcon } from './tone.tsx';

/** A mere notice is not something at work: it has a sign of its own. */
export function ConditionIcon({ tone }: { tone: Tone | 'notice' }) {
  if (tone === 'notice') return <Info aria-hidden className="mt-0.5 size-5 shrink-0 text-ink-soft" />;
  return <ToneIcon tone={tone} className="mt-0.5" />;
}
