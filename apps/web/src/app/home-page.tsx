import type { TFunction } from 'i18next';
import { ChevronRight, CirclePlus, type LucideIcon, Wifi } from 'lucide-react';
import { type ReactElement, type ReactNode, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Status } from '@station/protocol/agent-api';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import type { CloudCondition } from '@station/protocol/cloud';
import type { Device, Zone } from '@station/protocol/devices';
import type { Rollout } from '@station/protocol/firmware-rollouts';
import { isLimited, isManager } from '@station/protocol/roles';
import { useDeviceOutline, useDeviceTypes, useZones } from '../api/devices.ts';
import { useFavourites } from '../api/favourites.ts';
import type { Reading } from '../api/reading.ts';
import { useScenes } from '../api/scenes.ts';
import { useUser } from '../api/services.ts';
import { isSwitching, useBackendConditions, useStatus } from '../api/station.ts';
import { useCloudAttention } from '../features/cloud/follow-cloud.ts';
import { ArrangeButton } from '../features/devices/arrange-button.tsx';
import { DeviceGridSkeleton } from '../features/devices/device-grid.tsx';
import { useWaitingCount } from '../features/devices/unknown-devices.ts';
import { useFirmwareAttention } from '../features/firmware/rollouts.ts';
import { SceneBar } from '../features/scenes/scene-bar.tsx';
import { useWifiOffer } from '../features/settings/follow-wifi.ts';
import { HealthLine, HealthSkeleton } from '../features/station/health-line.tsx';
import { healthOf, offeredVersion, toneOf } from '../features/station/health.ts';
import { backendConditionTitle, releaseWords } from '../features/station/station-words.ts';
import { useTypeName } from '../i18n/use-type-name.ts';
import { orElse } from '../i18n/words.ts';
import { Skeleton } from '../ui/card.tsx';
import { Dimmable, PageHead } from '../ui/page.tsx';
import { ReadFault } from '../ui/problem.tsx';
import { type Tone, ToneDisc, toneOfSeverity } from '../ui/tone.tsx';
import { AddDeviceLink, DevicesPart, devicesHeadline, useIsDue } from './home-devices.tsx';

export function HomePage() {
  const { t } = useTranslation();
  const view = useStatus();
  const devices = useDeviceOutline();
  const zones = useZones();
  const { role } = useUser();
  const seesAll = !isLimited(role);
  const mayManage = isManager(role);
  const attention: Attention = {
    firmware: useFirmwareAttention(mayManage),
    cloud: useCloudAttention(),
    condition: useConditionAttention(),
  };
  // The devices work without the agent, so without it only the headline is dimmed.
  const isAgentSilent = view.kind === 'shown' && view.freshness.kind === 'stale';
  const isStale = devices.kind === 'shown' && devices.freshness.kind === 'stale';
  const ofDevices = devices.kind === 'shown' ? devices.freshness : undefined;
  const ofStation = view.kind === 'shown' ? view.freshness : undefined;
  const freshness = isStale || !seesAll ? ofDevices : ofStation;
  // Then the button is in the place of the devices.
  const hasNoDevices = devices.kind === 'shown' && devices.value.length === 0;
  return (
    <>
      <PageHead
        page={t('home.title')}
        restarting={view.kind === 'shown' && isSwitching(view.value.operation)}
        {...(freshness && { freshness })}
      >
        <div className="flex flex-col gap-4 sm:flex-row sm:items-start sm:justify-between">
          <Dimmable stale={isAgentSilent || isStale} className="min-w-0">
            {seesAll ? (
              <HealthHeadline view={view} devices={devices} attention={attentionOf(t, attention)} />
            ) : (
              <DevicesHeadline devices={devices} />
            )}
          </Dimmable>
          {!hasNoDevices && (
            <div className="flex shrink-0 gap-2">
              {mayManage && <AddDeviceLink />}
              <ArrangeButton zones={zones ?? []} mayManage={mayManage && !isStale} />
            </div>
          )}
        </div>
      </PageHead>
      <HomeContent view={view} devices={devices} zones={zones} attention={attention} />
    </>
  );
}

/** The devices; above them what was there before them, below them the rest. */
function HomeContent({
  view,
  devices,
  zones,
  attention,
}: {
  view: Reading<Status>;
  devices: Reading<readonly Device[]>;
  zones: readonly Zone[] | null;
  attention: Attention;
}) {
  const { t } = useTranslation();
  const types = useDeviceTypes();
  const favourites = useFavourites();
  const scenes = useScenes();
  const seesAll = !isLimited(useUser().role);
  const isStatusDue = useIsDue(seesAll && view.kind === 'loading');
  // Wait for all: what arrives later would move the tiles or draw them anew.
  const isMissing = devices.kind === 'loading' || [zones, types, favourites, scenes].includes(null);
  const isLoading = isStatusDue || isMissing;
  const isAgentSilent = view.kind === 'shown' && view.freshness.kind === 'stale';
  const isStale = devices.kind === 'shown' && devices.freshness.kind === 'stale';
  const offered = view.kind === 'shown' && view.value.operation === null && offeredVersion(view.value) !== null;
  const tiles = useAttentionTiles(attention);
  const early = useEarly([...tiles.map(({ key }) => `${key}`), ...(offered ? ['station'] : [])], isLoading);
  const isStationEarly = offered && early.includes('station');
  const station = view.kind === 'shown' && (
    <Dimmable stale={isAgentSilent || isStale}>
      <StationTile status={view.value} />
    </Dimmable>
  );
  return (
    <div className="grid grid-cols-1 gap-6 md:gap-8">
      {isStationEarly && station}
      <Dimmable stale={isStale} className="grid gap-3 empty:hidden">
        {tiles.filter(({ key }) => early.includes(`${key}`))}
      </Dimmable>
      {isLoading && devices.kind !== 'fault' ? (
        // Its own key: where the tiles are to stand is not known yet, so the placeholder does not move but is replaced.
        <DeviceGridSkeleton key={`placeholder ${early.join(' ')}`} />
      ) : (
        <Suspense fallback={<DeviceGridSkeleton />}>
          <Dimmable stale={isStale} className="grid grid-cols-1 gap-6 md:gap-8">
            <SceneBar scenes={scenes ?? []} usable={!isStale} />
            <DevicesPart view={devices} types={types} zones={zones} favourites={favourites} usable={!isStale} />
          </Dimmable>
          <Dimmable stale={isStale} className="grid gap-3 empty:hidden">
            {tiles.filter(({ key }) => !early.includes(`${key}`))}
          </Dimmable>
          {!isStationEarly && station}
          {seesAll && view.kind === 'loading' && <Skeleton className="h-20 rounded-2xl" />}
          {seesAll && view.kind === 'fault' && <ReadFault title={t('health.fault')} {...view} />}
        </Suspense>
      )}
    </div>
  );
}

/**
 * Which of the tiles stand above the devices: those that were there before them. What comes later stands below until the page is opened
 * again, so that no device moves under a finger; the headline tells it at once.
 */
function useEarly(keys: readonly string[], isLoading: boolean): readonly string[] {
  const [early, setEarly] = useState(keys);
  if (isLoading && keys.join(' ') !== early.join(' ')) setEarly(keys);
  return early;
}

type Attention = { firmware: Rollout | null; cloud: CloudCondition | null; condition: BackendCondition | null };

/** The most important of them, as text. */
function attentionOf(t: TFunction, { firmware, cloud, condition }: Attention): string | null {
  if (condition) return backendConditionTitle(t, condition);
  return firmware ? attentionWords(t, firmware) : cloud && cloudTitle(t, cloud);
}

/** For people who may act on it. Unknown devices have a tile of their own, and nothing is wrong with them. */
function useConditionAttention(): BackendCondition | null {
  const mayManage = isManager(useUser().role);
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
  // It names the devices too, in the same room.
  if (view.kind === 'loading' || devices.kind === 'loading') return <HealthSkeleton />;
  const some = devices.kind === 'shown' && devices.value.length > 0;
  return (
    <PlainHeadline tone="fault" words={t('health.fault')} more={some ? devicesHeadline(t, devices.value).words : ''} />
  );
}

/** As large as the placeholder in its place. */
function PlainHeadline({ tone, words, more = '' }: { tone: Tone; words: string; more?: string }) {
  return (
    <div className="flex items-center gap-4">
      <ToneDisc tone={tone} large />
      <div className="min-w-0">
        <h1 aria-live="polite" className="text-title font-strong md:text-value">
          {words}
        </h1>
        <p className="text-ink-soft empty:hidden">{more}</p>
      </div>
    </div>
  );
}

/** For those who see some zones only: they know nothing of the station itself. */
function DevicesHeadline({ devices }: { devices: Reading<readonly Device[]> }) {
  const { t } = useTranslation();
  const { name } = useUser();
  if (devices.kind !== 'shown') return <HealthSkeleton />;
  const some = devices.value.length > 0;
  const { allWell, words } = some ? devicesHeadline(t, devices.value) : { allWell: true, words: name };
  return <PlainHeadline tone={allWell ? 'ok' : 'attention'} words={words} />;
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
      href="/settings/updates"
      icon={<ToneDisc tone={toneOf(healthOf(status))} />}
      title={t('home.station')}
      help={ready === null ? releaseWords(t, status.currentVersion) : t('home.readyToInstall', { version: ready })}
    />
  );
}

const attentionWords = (t: TFunction, { state }: Rollout): string =>
  t(state === 'stopped' ? 'home.firmware.stopped' : 'home.firmware.approval');

/** What someone should look at or decide, besides devices and the station itself; each with a key. */
function useAttentionTiles({ firmware, cloud, condition }: Attention): readonly ReactElement[] {
  const { t } = useTranslation();
  const mayManage = isManager(useUser().role);
  const waiting = useWaitingCount(mayManage);
  const ssid = useWifiOffer(mayManage);
  const tiles: (ReactElement | false)[] = [
    waiting > 0 && (
      <LinkTile
        key="unknown-devices"
        href="/unknown-devices"
        icon={<CalmDisc icon={CirclePlus} />}
        title={t('home.unknown.title', { count: waiting })}
        help={t('home.unknown.help')}
      />
    ),
    ssid !== null && (
      <LinkTile
        key="wifi"
        href="/settings/network"
        icon={<CalmDisc icon={Wifi} />}
        title={t('home.wifi.title', { ssid })}
        help={t('home.wifi.help')}
      />
    ),
    condition !== null && (
      <LinkTile
        key="condition"
        href={condition.id === 'automations_broken' ? '/automations' : '/settings/diagnostics'}
        icon={<ToneDisc tone={discTone(condition)} />}
        title={backendConditionTitle(t, condition)}
        help={t('home.whatHelps')}
      />
    ),
    firmware !== null && <FirmwareTile key="firmware" rollout={firmware} />,
    cloud !== null && (
      <LinkTile
        key="cloud"
        href="/settings/remote"
        icon={<ToneDisc tone={discTone(cloud)} />}
        title={cloudTitle(t, cloud)}
        help={t('home.cloud.help')}
      />
    ),
  ];
  return tiles.filter((tile) => tile !== false);
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
      href="/settings/updates"
      icon={<ToneDisc tone={state === 'stopped' ? 'fault' : 'attention'} />}
      title={attentionWords(t, rollout)}
      help={t('home.firmware.one', { type: nameOf(type), version })}
    />
  );
}

/** A newer station may have conditions that this page does not know: then the station's own text is shown. */
const cloudTitle = (t: TFunction, { id, message }: CloudCondition): string => orElse(t, `home.cloud.${id}`, message);
