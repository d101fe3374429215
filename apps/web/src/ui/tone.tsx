import { Check, CircleAlert, LoaderCircle, TriangleAlert, type LucideIcon } from 'lucide-react';
import type { ConditionStatus } from '@station/protocol/agent-api';
import { classNames } from './class-names.ts';

/** The four states anything on the page can be in. It decides colour, icon and word. */
export type Tone = 'ok' | 'working' | 'attention' | 'fault';

const icons: Record<Tone, LucideIcon> = {
  ok: Check,
  working: LoaderCircle,
  attention: TriangleAlert,
  fault: CircleAlert,
};

const toneText: Record<Tone, string> = {
  ok: 'text-ok',
  working: 'text-working',
  attention: 'text-attention',
  fault: 'text-fault',
};

export const toneBorder: Record<Tone, string> = {
  ok: 'border-ok',
  working: 'border-working',
  attention: 'border-attention',
  fault: 'border-fault',
};

const toneSoft: Record<Tone, string> = {
  ok: 'bg-ok-soft',
  working: 'bg-working-soft',
  attention: 'bg-attention-soft',
  fault: 'bg-fault-soft',
};

/** The icon of a state. A text with the same meaning is always beside it, so it is hidden from screen readers. */
export function ToneIcon({ tone, className }: { tone: Tone; className?: string }) {
  const Icon = icons[tone];
  return (
    <Icon
      aria-hidden
      className={classNames('size-5 shrink-0', toneText[tone], tone === 'working' && 'animate-breathe', className)}
    />
  );
}

/** The same sign in a disc, for the head of a page or a card. */
export function ToneDisc({ tone, large = false }: { tone: Tone; large?: boolean }) {
  return (
    <span
      className={classNames(
        'grid shrink-0 place-items-center rounded-full',
        large ? 'size-12 md:size-14' : 'size-10',
        toneSoft[tone],
      )}
    >
      <ToneIcon tone={tone} className={large ? 'size-6 md:size-7' : 'size-5'} />
    </span>
  );
}

/** A notice has no tone: nothing is wrong. */
export const toneOfSeverity: Record<ConditionStatus['severity'], Tone | 'notice'> = {
  fault: 'fault',
  warning: 'attention',
  info: 'notice',
};
