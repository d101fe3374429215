import type { TFunction } from 'i18next';
import { ChevronRight, ToggleRight } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Status } from '@station/protocol/agent-api';
import type { CloudCondition } from '@station/protocol/cloud';
import type { Device } from '@station/protocol/devices';
import type { Rollout } from '@station/protocol/firmware-rollouts';
import { useDevices, useDeviceTypes, useZones } from '../api/devices.ts';
import type { Reading } from '../api/reading.ts';
import { useUser } from '../api/services.ts';
import { isSwitching, useStatus } from '../api/station.ts';
import { useCloudAttention } from '../features/cloud/follow-cloud.ts';
import { DeviceGrid, DeviceGridSkeleton } from '../features/devices/device-grid.tsx';
import { useFirmwareAttention } from '../features/firmware/rollouts.ts';
import { HealthLine, HealthSkeleton } from '../features/station/health-line.tsx';
import { healthOf, offeredVersion, toneOf } from '../features/station/health.ts';
import { releaseWords } from '../features/station/station-words.ts';
import { useTypeName } from '../i18n/use-type-name.ts';
import { EmptyNote, Skeleton } from '../ui/card.tsx';
import { Dimmable, PageHead } from '../ui/page.tsx';
import { ReadFault } from '../ui/problem.tsx';
import { ToneDisc, toneOfSeverity } from '../ui/tone.tsx';

export function HomePage() {
  const { t } = useTranslation();
  const view = useStatus();
  const devices = useDevices();
  const firmware = useFirmwareAttention(useUser().role !== 'member');
  const cloud = useCloudAttention();
  // The devices work without the agent, so without it only the headline is dimmed.
  const isAgentSilent = view.kind === 'shown' && view.freshness.kind === 'stale';
  const isStale = devices.kind === 'shown' && devices.freshness.kind === 'stale';
  const freshness = isStale ? devices.freshness : view.kind === 'shown' ? view.freshness : undefined;
  const attention = firmware ? attentionWords(t, firmware) : cloud && cloudTitle(t, cloud);
  const offered = view.kind === 'shown' && view.value.operation === null && offeredVersion(view.value) !== null;
  const station = view.kind === 'shown' && (
    <Dimmable stale={isAgentSilent || isStale}>
      <StationTile status={view.value} />
    </Dimmable>
  );
  return (
    <>
      <PageHead
        page={t('home.title')}
        restarting={view.kind === 'shown' && isSwitching(view.value.operation)}
        {...(freshness && { freshness })}
      >
        <Dimmable stale={isAgentSilent || isStale}>
          <HealthHeadline view={view} devices={devices} attention={attention} />
        </Dimmable>
      </PageHead>
      <div className="grid grid-cols-1 gap-6 md:gap-8">
        {offered && station}
        {firmware && <FirmwareTile rollout={firmware} stale={isStale} />}
        {cloud && <CloudTile condition={cloud} stale={isStale} />}
        <Dimmable stale={isStale} className="grid gap-6 md:gap-8">
          <DevicesPart view={devices} usable={!isStale} />
        </Dimmable>
        {!offered && station}
        {view.kind === 'loading' && <Skeleton className="h-20 rounded-2xl" />}
      </div>
    </>
  );
}

/** @param attention other things that need attention besides devices and the station, as text; null: nothing. */
function HealthHeadline({
  view,
  devices,
  attention,
}: {
  view: Reading<Status>;
  devices: Reading<readonly Device[]>;
  attention: string | null;
}) {
  const { t } = useTranslation();
  if (view.kind === 'shown') {
    // The headline includes the devices, so it must not say "all is well" before they are known.
    if (devices.kind === 'loading' && toneOf(healthOf(view.value)) === 'ok') return <HealthSkeleton />;
    if (devices.kind === 'fault') {
      return <HealthLine status={view.value} devices={{ allWell: false, words: t('device.fault') }} />;
    }
    const some = devices.kind === 'shown' && devices.value.length > 0;
    const words = some ? devicesHeadline(t, devices.value) : null;
    // A device that is offline is more important than an update that waits.
    const shown = attention !== null && words?.allWell !== false ? { allWell: false, words: attention } : words;
    return <HealthLine status={view.value} devices={shown} />;
  }
  if (view.kind === 'fault') return <ReadFault isHeadline title={t('station.fault.title')} {...view} />;
  return <HealthSkeleton />;
}

function DevicesPart({ view, usable }: { view: Reading<readonly Device[]>; usable: boolean }) {
  const { t } = useTranslation();
  const types = useDeviceTypes();
  const zones = useZones();
  const mayManage = useUser().role !== 'member';
  if (view.kind === 'fault') return <ReadFault title={t('device.fault')} {...view} />;
  // Wait for all: zones that arrive later would reorder the tiles, and types would redraw them.
  if (view.kind === 'loading' || zones === null || types === null) return <DeviceGridSkeleton />;
  if (view.value.length === 0) return <NoDevices />;
  return <DeviceGrid devices={view.value} types={types} zones={zones} usable={usable} mayManage={mayManage} />;
}

function StationTile({ status }: { status: Status }) {
  const { t } = useTranslation();
  const ready = status.operation ? null : offeredVersion(status);
  return (
    <Link
      href="/station"
      className="flex min-h-20 items-center gap-4 rounded-2xl border border-line bg-surface p-4 shadow-lift hover:border-line-strong"
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

const attentionWords = (t: TFunction, { state }: Rollout): string =>
  t(state === 'stopped' ? 'home.firmware.stopped' : 'home.firmware.approval');

/** Shown only while a rollout waits for approval or was stopped. */
function FirmwareTile({ rollout, stale }: { rollout: Rollout; stale: boolean }) {
  const { t } = useTranslation();
  const nameOf = useTypeName();
  const { type, version, state } = rollout;
  return (
    <Dimmable stale={stale}>
      <Link
        href="/device-firmware"
        className="flex min-h-20 items-center gap-4 rounded-2xl border border-line bg-surface p-4 shadow-lift hover:border-line-strong"
      >
        <ToneDisc tone={state === 'stopped' ? 'fault' : 'attention'} />
        <span className="min-w-0 flex-1">
          <span className="block font-strong">{attentionWords(t, rollout)}</span>
          <span className="block text-ink-soft">{t('home.firmware.one', { type: nameOf(type), version })}</span>
        </span>
        <ChevronRight aria-hidden className="size-5 shrink-0 text-ink-soft" />
      </Link>
    </Dimmable>
  );
}

/** A newer station may have conditions that this page does not know: then the station's own text is shown. */
const cloudTitle = (t: TFunction, { id, message }: CloudCondition): string =>
  (t as (key: string, options: { defaultValue: string }) => string)(`home.cloud.${id}`, { defaultValue: message });

/** Shown only while something is wrong with the cloud link. */
function CloudTile({ condition, stale }: { condition: CloudCondition; stale: boolean }) {
  const { t } = useTranslation();
  const tone = toneOfSeverity[condition.severity];
  return (
    <Dimmable stale={stale}>
      <Link
        href="/cloud"
        className="flex min-h-20 items-center gap-4 rounded-2xl border border-line bg-surface p-4 shadow-lift hover:border-line-strong"
      >
        <ToneDisc tone={tone === 'notice' ? 'ok' : tone} />
        <span className="min-w-0 flex-1">
          <span className="block font-strong">{cloudTitle(t, condition)}</span>
          <span className="block text-ink-soft">{t('home.cloud.help')}</span>
        </span>
        <ChevronRight aria-hidden className="size-5 shrink-0 text-ink-soft" />
      </Link>
    </Dimmable>
  );
}

function NoDevices() {
  const { t } = useTranslation();
  return (
    <section aria-labelledby="devices">
      <h2 id="devices" className="mb-3 font-strong">
        {t('home.devices')}
      </h2>
      <EmptyNote icon={ToggleRight} heading="h3" title={t('home.noDevices.title')} help={t('home.noDevices.help')} />
    </section>
  );
}

/** "All 14 devices online", or what is not. */
function devicesHeadline(t: TFunction, devices: readonly Device[]): { allWell: boolean; words: string } {
  const offline = devices.filter(({ status }) => status === 'offline');
  if (offline.length === 0) return { allWell: true, words: t('home.allOnline', { count: devices.length }) };
  const [only] = offline;
  return {
    allWell: false,
    words:
      offline.length === 1 && only
        ? t('home.oneOffline', { name: only.name })
        : t('home.someOffline', { count: offline.length, total: devices.length }),
  };
}
