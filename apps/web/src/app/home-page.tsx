import type { TFunction } from 'i18next';
import { ChevronRight, CirclePlus, type LucideIcon, Wifi } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import type { Status } from '@station/protocol/agent-api';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import type { CloudCondition } from '@station/protocol/cloud';
import type { Device } from '@station/protocol/devices';
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
  const types = useDeviceTypes();
  const zones = useZones();
  const favourites = useFavourites();
  const scenes = useScenes();
  const { role } = useUser();
  const seesAll = !isLimited(role);
  const isStatusDue = useIsDue(seesAll && view.kind === 'loading');
  // Wait for all: what arrives later would move the tiles or draw them anew.
  const isLoading =
    isStatusDue ||
    devices.kind === 'loading' ||
    zones === null ||
    types === null ||
    favourites === null ||
    scenes === null;
  const mayManage = isManager(role);
  const firmware = useFirmwareAttention(mayManage);
  const cloud = useCloudAttention();
  const condition = useConditionAttention();
  // The devices work without the agent, so without it only the headline is dimmed.
  const isAgentSilent = view.kind === 'shown' && view.freshness.kind === 'stale';
  const isStale = devices.kind === 'shown' && devices.freshness.kind === 'stale';
  const ofDevices = devices.kind === 'shown' ? devices.freshness : undefined;
  const ofStation = view.kind === 'shown' ? view.freshness : undefined;
  const freshness = isStale || !seesAll ? ofDevices : ofStation;
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
            {seesAll ? (
              <HealthHeadline view={view} devices={devices} attention={attention} />
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
      <div className="grid grid-cols-1 gap-6 md:gap-8">
        {offered && station}
        <Dimmable stale={isStale} className="grid gap-3 empty:hidden">
          <AttentionTiles firmware={firmware} cloud={cloud} condition={condition} />
        </Dimmable>
        {isLoading && devices.kind !== 'fault' ? (
          // Its own key: where the tiles are to stand is not known yet, so the placeholder does not move but is replaced.
          <DeviceGridSkeleton key={`placeholder ${offered}`} />
        ) : (
          <Dimmable stale={isStale} className="grid grid-cols-1 gap-6 md:gap-8">
            <SceneBar scenes={scenes ?? []} usable={!isStale} />
            <DevicesPart view={devices} types={types} zones={zones} favourites={favourites} usable={!isStale} />
          </Dimmable>
        )}
        {!offered && station}
        {seesAll && view.kind === 'loading' && <Skeleton className="h-20 rounded-2xl" />}
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
  if (view.kind === 'fault') return <ReadFault isHeadline title={t('health.fault')} {...view} />;
  return <HealthSkeleton />;
}

/** For those who see some zones only: they know nothing of the station itself. */
function DevicesHeadline({ devices }: { devices: Reading<readonly Device[]> }) {
  const { t } = useTranslation();
  const { name } = useUser();
  if (devices.kind !== 'shown') return <HealthSkeleton />;
  const some = devices.value.length > 0;
  const { allWell, words } = some ? devicesHeadline(t, devices.value) : { allWell: true, words: name };
  return (
    <div className="flex items-center gap-4">
      <ToneDisc tone={allWell ? 'ok' : 'attention'} large />
      <h1 aria-live="polite" className="min-w-0 text-title font-strong md:text-value">
        {words}
      </h1>
    </div>
  );
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
  const mayManage = isManager(useUser().role);
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
          href={condition.id === 'automations_broken' ? '/automations' : '/station'}
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
