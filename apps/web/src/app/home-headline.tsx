import { ChevronRight } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Status } from '@station/protocol/agent-api';
import type { Device } from '@station/protocol/devices';
import type { Reading } from '../api/reading.ts';
import { useUser } from '../api/services.ts';
import { headHeight, HealthLine, HealthSkeleton } from '../features/station/health-line.tsx';
import { healthOf, toneOf } from '../features/station/health.ts';
import { classNames } from '../ui/class-names.ts';
import { type Tone, ToneDisc } from '../ui/tone.tsx';
import type { Thing } from './home-attention.ts';

const AttentionSheet = lazy(async () => ({ default: (await import('./attention-sheet.tsx')).AttentionSheet }));

/** One line: everything is fine, or how many things need attention; they are listed on demand. */
export function HomeHeadline({
  view,
  devices,
  things,
  seesAll,
}: {
  view: Reading<Status>;
  devices: Reading<readonly Device[]>;
  things: readonly Thing[];
  /** False for those who see some zones: they know nothing of the station itself. */
  seesAll: boolean;
}) {
  const { t } = useTranslation();
  const { name } = useUser();
  const [isOpen, setOpen] = useState(false);
  if (devices.kind === 'loading' || (seesAll && view.kind === 'loading')) return <HealthSkeleton />;
  if (seesAll && view.kind === 'shown') {
    const { value: status } = view;
    // What goes on is said as it goes.
    if (status.operation !== null || toneOf(healthOf(status)) === 'working') return <HealthLine status={status} />;
  }
  const count = devices.kind === 'shown' ? devices.value.length : 0;
  const online = count > 0 && !things.some(({ key }) => key === 'offline') ? t('home.allOnline', { count }) : '';
  if (devices.kind === 'fault') return <Line tone="fault" words={t('device.fault')} />;
  if (things.length === 0) return <Line tone="ok" words={t('health.fine')} more={online === '' ? name : online} />;
  const tone = things.some((one) => one.tone === 'fault') ? 'fault' : 'attention';
  const [only] = things;
  return (
    <>
      <Line
        tone={things.every((one) => one.tone === 'notice') ? 'ok' : tone}
        words={t('home.attention', { count: things.length })}
        more={things.length === 1 && only ? only.title : online}
        onOpen={() => setOpen(true)}
      />
      {isOpen && (
        <Suspense>
          <AttentionSheet things={things} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}

/** As large as the placeholder in its place. */
function Line({ tone, words, more = '', onOpen }: { tone: Tone; words: string; more?: string; onOpen?: () => void }) {
  const { t } = useTranslation();
  return (
    <div className={classNames('flex items-center gap-4', headHeight)}>
      <ToneDisc tone={tone} large />
      <div className="min-w-0">
        <h1 aria-live="polite" className="text-title font-strong md:text-value">
          <span className="sr-only">{t(`health.tone.${tone}`)}: </span>
          {onOpen ? (
            <button
              type="button"
              aria-haspopup="dialog"
              onClick={onOpen}
              className="-mx-2 flex min-h-11 items-center gap-1 rounded-xl px-2 text-left hover:bg-sunken"
            >
              {words}
              <ChevronRight aria-hidden className="size-5 shrink-0 text-ink-soft" />
            </button>
          ) : (
            words
          )}
        </h1>
        <p className="truncate text-ink-soft empty:hidden">{more}</p>
      </div>
    </div>
  );
}
