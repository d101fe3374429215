import { ChevronRight, ToggleRight } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Status } from '@station/protocol/agent-api';
import { PageHead } from '../../app/page-head.tsx';
import { HealthLine } from '../../status/health-line.tsx';
import { HealthSkeleton } from '../../status/health-skeleton.tsx';
import { healthOf, offeredVersion, toneOf } from '../../status/health.ts';
import { StatusFault } from '../../status/status-fault.tsx';
import { isSwitching } from '../../status/steps.ts';
import { useStatus, type StatusView } from '../../status/use-status.ts';
import { releaseWords } from '../../status/words.ts';
import { classNames } from '../../ui/class-names.ts';
import { Skeleton } from '../../ui/skeleton.tsx';
import { ToneDisc } from '../../ui/tone.tsx';

export function HomePage() {
  const { t } = useTranslation();
  const view = useStatus();
  const stale = view.kind === 'shown' && view.freshness.kind === 'stale';
  const head =
    view.kind === 'shown' ? { freshness: view.freshness, restarting: isSwitching(view.status.operation) } : {};
  return (
    <>
      <PageHead page={t('home.title')} {...head}>
        <div className={classNames('text-ink transition-[filter] duration-500', stale && 'dimmed')}>
          <Headline view={view} />
        </div>
      </PageHead>
      <div
        className={classNames('grid gap-6 text-ink transition-[filter] duration-500 lg:grid-cols-2', stale && 'dimmed')}
      >
        {view.kind === 'loading' && <Skeleton className="h-24 rounded-2xl lg:col-span-2" />}
        {view.kind === 'shown' && <StationTile status={view.status} />}
        <NoDevices />
      </div>
    </>
  );
}

function Headline({ view }: { view: StatusView }) {
  if (view.kind === 'shown') return <HealthLine status={view.status} />;
  if (view.kind === 'fault') return <StatusFault {...view} />;
  return <HealthSkeleton />;
}

function StationTile({ status }: { status: Status }) {
  const { t } = useTranslation();
  const ready = status.operation ? null : offeredVersion(status);
  return (
    <Link
      href="/station"
      className="flex min-h-20 items-center gap-4 rounded-2xl border border-line bg-surface p-4 shadow-lift hover:border-line-strong lg:col-span-2"
    >
      <ToneDisc tone={toneOf(healthOf(status))} />
      <span className="min-w-0 flex-1">
        <span className="block font-strong">{t('home.station')}</span>
        <span className="block text-ink-soft first-letter:uppercase">
          {ready === null ? releaseWords(t, status.currentVersion) : t('home.readyToInstall', { version: ready })}
        </span>
      </span>
      <ChevronRight aria-hidden className="size-5 shrink-0 text-ink-soft" />
    </Link>
  );
}

function NoDevices() {
  const { t } = useTranslation();
  return (
    <section aria-labelledby="devices" className="lg:col-span-2">
      <h2 id="devices" className="mb-3 font-strong">
        {t('home.devices')}
      </h2>
      <div className="flex flex-col items-center gap-2 rounded-2xl border border-dashed border-line-strong px-6 py-10 text-center">
        <ToggleRight aria-hidden className="size-8 text-ink-soft" />
        <h3 className="font-strong">{t('home.noDevices.title')}</h3>
        <p className="max-w-sm text-ink-soft">{t('home.noDevices.help')}</p>
      </div>
    </section>
  );
}
