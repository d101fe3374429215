import type { TFunction } from 'i18next';
import { ChevronRight, CirclePlus, type LucideIcon, Plus, ToggleRight, Wifi } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Status } from '@station/protocol/agent-api';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import type { CloudCondition } from '@station/protocol/cloud';
import type { Device } from '@station/protocol/devices';
import type { Rollout } from '@station/protocol/firmware-rollouts';
import { useDevices, useDeviceTypes, useZones } from '../api/devices.ts';
import type { Reading } from '../api/reading.ts';
import { useUser } from '../api/services.ts';
import { isSwitching, useBackendConditions, useStatus } from '../api/station.ts';
import { useCloudAttention } from '../features/cloud/follow-cloud.ts';
import { DeviceGrid, DeviceGridSkeleton } from '../features/devices/device-grid.tsx';
import { useWaitingCount } from '../features/devices/unknown-devices.ts';
import { useFirmwareAttention } from '../features/firmware/rollouts.ts';
import { useWifiOffer } from '../features/settings/follow-wifi.ts';
import { HealthLine, HealthSkeleton } from '../features/station/health-line.tsx';
import { healthOf, offeredVersion, toneOf } from '../features/station/health.ts';
import { backendConditionTitle, releaseWords } from '../features/station/station-words.ts';
import { useTypeName } from '../i18n/use-type-name.ts';
import { orElse } from '../i18n/words.ts';
import { EmptyNote, Skeleton } from '../ui/card.tsx';
import { LinkButton } from '../ui/links.tsx';
import { Dimmable, PageHead } from '../ui/page.tsx';
import { ReadFault } from '../ui/problem.tsx';
import { type Tone, ToneDisc, toneOfSeverity } from '../ui/tone.tsx';

export function HomePage() {
  const { t } = useTranslation();
  const view = useStatus();
  const devices = useDevices();
  const mayManage = useUser().role !== 'member';
  const firmware = useFirmwareAttention(mayManage);
  const cloud = useCloudAttention();
  const condition = useConditionAttention();
  // The devices work without the agent, so without it only the headline is dimmed.
  const isAgentSilent = view.kind === 'shown' && view.freshness.kind === 'stale';
  const isStale = devices.kind === 'shown' && devices.freshness.kind === 'stale';
  const freshness = isStale ? devices.freshness : view.kind === 'shown' ? view.freshness : undefined;
  // Then the button is in the place of the devices.
  const hasNoDevices = devices.kind === 'shown' && devices.value.length === 0;
  const attention = attentionOf(t, { firmware, cloud, condition });
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
        <div className="flex flex-col gap-4 sm:flex-row sm:items-start sm:justify-between">
          <Dimmable stale={isAgentSilent || isStale} className="min-w-0">
            <HealthHeadline view={view} devices={devices} attention={attention} />
          </Dimmable>
          {mayManage && !hasNoDevices && (
            <div className="shrink-0">
              <AddDeviceLink />
            </div>
          )}
        </div>
      </PageHead>
      <div className="grid grid-cols-1 gap-6 md:gap-8">
        {offered && station}
        <Dimmable stale={isStale} className="grid gap-3 empty:hidden">
          <AttentionTiles firmware={firmware} cloud={cloud} condition={condition} />
        </Dimmable>
        <Dimmable stale={isStale} className="grid gap-6 md:gap-8">
          <DevicesPart view={devices} usable={!isStale} />
        </Dimmable>
        {!offered && station}
        {view.kind === 'loading' && <Skeleton className="h-20 rounded-2xl" />}
      </div>
    </>
  );
}

type Attention = { firmware: Rollout | null; cloud: CloudCondition | null; condition: BackendCondition | null };

/** The most important of them, as text. */
function attentionOf(t: TFunction, { firmware, cloud, condition }: Attention): string | null {
  if (condition) return backendConditionTitle(t, condition);
  return firmware ? attentionWords(t, firmware) : cloud && cloudTitle(t, cloud);
}

/** For people who may act on it. Unknown devices have a tile of their own, and nothing is wrong with them. */
function useConditionAttention(): BackendCondition | null {
  const mayManage = useUser().role !== 'member';
  const wrong = useBackendConditions().filter(({ severity }) => severity !== 'info');
  return (mayManage && (wrong.find(({ severity }) => severity === 'fault') ?? wrong[0])) || null;
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
  if (view.kind === 'fault') return <ReadFault isHeadline title={t('health.fault')} {...view} />;
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
  if (view.value.length === 0) return <NoDevices mayManage={mayManage} />;
  return <DeviceGrid devices={view.value} types={types} zones={zones} usable={usable} mayManage={mayManage} />;
}

/** A line that leads to the page where something can be done. */
function LinkTile({ href, icon, title, help }: { href: string; icon: ReactNode; title: string; help: string }) {
  return (
    <Link
      href={href}
      className="flex min-h-20 items-center gap-4 rounded-2xl border border-line bg-surface p-4 shadow-lift hover:border-line-strong"
    >
      {icon}
      <span className="min-w-0 flex-1">
        <span className="block font-strong break-words">{title}</span>
        <span className="block text-ink-soft first-letter:uppercase">{help}</span>
      </span>
      <ChevronRight aria-hidden className="size-5 shrink-0 text-ink-soft" />
    </Link>
  );
}

function StationTile({ status }: { status: Status }) {
  const { t } = useTranslation();
  const ready = status.operation ? null : offeredVersion(status);
  return (
    <LinkTile
      href="/station"
      icon={<ToneDisc tone={toneOf(healthOf(status))} />}
      title={t('home.station')}
      help={ready === null ? releaseWords(t, status.currentVersion) : t('home.readyToInstall', { version: ready })}
    />
  );
}

const attentionWords = (t: TFunction, { state }: Rollout): string =>
  t(state === 'stopped' ? 'home.firmware.stopped' : 'home.firmware.approval');

/** What someone should look at or decide, besides devices and the station itself. */
function AttentionTiles({ firmware, cloud, condition }: Attention) {
  const { t } = useTranslation();
  const mayManage = useUser().role !== 'member';
  const waiting = useWaitingCount(mayManage);
  const ssid = useWifiOffer(mayManage);
  return (
    <>
      {waiting > 0 && (
        <LinkTile
          href="/unknown-devices"
          icon={<CalmDisc icon={CirclePlus} />}
          title={t('home.unknown.title', { count: waiting })}
          help={t('home.unknown.help')}
        />
      )}
      {ssid !== null && (
        <LinkTile
          href="/settings"
          icon={<CalmDisc icon={Wifi} />}
          title={t('home.wifi.title', { ssid })}
          help={t('home.wifi.help')}
        />
      )}
      {condition && (
        <LinkTile
          href="/station"
          icon={<ToneDisc tone={discTone(condition)} />}
          title={backendConditionTitle(t, condition)}
          help={t('home.whatHelps')}
        />
      )}
      {firmware && <FirmwareTile rollout={firmware} />}
      {cloud && (
        <LinkTile
          href="/cloud"
          icon={<ToneDisc tone={discTone(cloud)} />}
          title={cloudTitle(t, cloud)}
          help={t('home.cloud.help')}
        />
      )}
    </>
  );
}

function discTone({ severity }: BackendCondition | CloudCondition): Tone {
  const tone = toneOfSeverity[severity];
  return tone === 'notice' ? 'ok' : tone;
}

function CalmDisc({ icon: Icon }: { icon: LucideIcon }) {
  return (
    <span className="grid size-10 shrink-0 place-items-center rounded-full bg-accent-soft text-accent">
      <Icon aria-hidden className="size-5" />
    </span>
  );
}

/** Shown only while a rollout waits for approval or was stopped. */
function FirmwareTile({ rollout }: { rollout: Rollout }) {
  const { t } = useTranslation();
  const nameOf = useTypeName();
  const { type, version, state } = rollout;
  return (
    <LinkTile
      href="/device-firmware"
      icon={<ToneDisc tone={state === 'stopped' ? 'fault' : 'attention'} />}
      title={attentionWords(t, rollout)}
      help={t('home.firmware.one', { type: nameOf(type), version })}
    />
  );
}

/** A newer station may have conditions that this page does not know: then the station's own text is shown. */
const cloudTitle = (t: TFunction, { id, message }: CloudCondition): string => orElse(t, `home.cloud.${id}`, message);

function AddDeviceLink({ kind }: { kind?: 'primary' }) {
  const { t } = useTranslation();
  return (
    <LinkButton href="/add" {...(kind && { kind })} className="shrink-0">
      <Plus aria-hidden className="size-5" />
      {t('home.add')}
    </LinkButton>
  );
}

function NoDevices({ mayManage }: { mayManage: boolean }) {
  const { t } = useTranslation();
  return (
    <section aria-labelledby="devices">
      <h2 id="devices" className="mb-3 font-strong">
        {t('home.devices')}
      </h2>
      <EmptyNote icon={ToggleRight} heading="h3" title={t('home.noDevices.title')} help={t('home.noDevices.help')}>
        {mayManage && <AddDeviceLink kind="primary" />}
      </EmptyNote>
    </section>
  );
}

/** "All 14 devices online", or what is not. One that is offline comes before one with a fault. */
function devicesHeadline(t: TFunction, devices: readonly Device[]): { allWell: boolean; words: string } {
  const offline = devices.filter(({ status }) => status === 'offline');
  const faulty = devices.filter(({ fault }) => fault !== null);
  if (offline.length === 0 && faulty[0]) {
    const words =
      faulty.length === 1
        ? t('home.oneFaulty', { name: faulty[0].name })
        : t('home.someFaulty', { count: faulty.length });
    return { allWell: false, words };
  }
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
