import { useTranslation } from 'react-i18next';
import type { Status } from '@station/protocol/agent-api';
import type { Device } from '@station/protocol/devices';
import { isManager } from '@station/protocol/roles';
import type { Reading } from '../api/reading.ts';
import { useUser } from '../api/services.ts';
import { useBackendConditions } from '../api/station.ts';
import { useCloudAttention } from '../features/cloud/follow-cloud.ts';
import { useWaitingCount } from '../features/devices/unknown-devices.ts';
import { useFirmwareAttention } from '../features/firmware/rollouts.ts';
import { useWifiOffer } from '../features/settings/follow-wifi.ts';
import { healthOf, offeredVersion, toneOf } from '../features/station/health.ts';
import { healthWords } from '../features/station/station-words.ts';
import { conditionTitle } from '../i18n/condition-words.ts';
import { useTypeName } from '../i18n/use-type-name.ts';
import { type Tone, toneOfSeverity } from '../ui/tone.tsx';

/** Something that somebody should look at, with the page where it can be done. */
export type Thing = { key: string; tone: Tone | 'notice'; title: string; help: string; href: string };

/** What needs attention at home, the most important first: devices, the station, then what waits for a decision. */
export function useThings(view: Reading<Status>, devices: Reading<readonly Device[]>): readonly Thing[] {
  const ofDevices = useDeviceThings(devices.kind === 'shown' ? devices.value : []);
  const ofStation = useStationThings(view);
  const toDecide = useDecisions();
  return [...ofDevices, ...ofStation, ...toDecide];
}

function useDeviceThings(devices: readonly Device[]): Thing[] {
  const { t } = useTranslation();
  const about = (
    key: 'offline' | 'faulty',
    some: readonly Device[],
    words: { one: 'home.oneOffline' | 'home.oneFaulty'; some: 'home.someOffline' | 'home.someFaulty' },
  ): Thing[] => {
    const [only] = some;
    if (!only) return [];
    const isOne = some.length === 1;
    return [
      {
        key,
        tone: 'attention',
        title: isOne ? t(words.one, { name: only.name }) : t(words.some, { count: some.length, total: devices.length }),
        help: t('home.whatHelps'),
        href: isOne ? `/devices/${only.id}` : `/devices?only=${key}`,
      },
    ];
  };
  const offline = devices.filter(({ status }) => status === 'offline');
  const faulty = devices.filter(({ status, fault }) => status !== 'offline' && fault !== null);
  return [
    ...about('offline', offline, { one: 'home.oneOffline', some: 'home.someOffline' }),
    ...about('faulty', faulty, { one: 'home.oneFaulty', some: 'home.someFaulty' }),
  ];
}

/** Of the agent. An operation that goes on is the headline itself. */
function useStationThings(view: Reading<Status>): Thing[] {
  const { t } = useTranslation();
  const mayManage = isManager(useUser().role);
  const thing = (key: string, tone: Thing['tone'], title: string, href = '/settings/diagnostics'): Thing => ({
    key,
    tone,
    title,
    help: t('home.whatHelps'),
    href,
  });
  if (view.kind === 'fault') return [thing('station', 'fault', t('health.fault'))];
  if (view.kind === 'loading') return [];
  const status = view.value;
  const health = healthOf(status);
  const serious = status.conditions.filter(({ severity }) => severity !== 'info');
  const offered = offeredVersion(status);
  const isTold = health.kind === 'condition' || health.kind === 'attention' || toneOf(health) === 'ok';
  return [
    ...serious.map((one) => thing(one.id, toneOfSeverity[one.severity], conditionTitle(t, one))),
    ...(isTold ? [] : [thing('station', toneOf(health), healthWords(t, health))]),
    ...(offered !== null && mayManage && !status.autoUpdate
      ? [thing('update', 'notice', t('home.readyToInstall', { version: offered }), '/settings/updates')]
      : []),
  ];
}

/** For people who may act on it. */
function useDecisions(): Thing[] {
  const { t } = useTranslation();
  const nameOf = useTypeName();
  const mayManage = isManager(useUser().role);
  const conditions = useBackendConditions();
  const firmware = useFirmwareAttention(mayManage);
  const cloud = useCloudAttention();
  const waiting = useWaitingCount(mayManage);
  const ssid = useWifiOffer(mayManage);
  const things: (Thing | false)[] = [
    ...conditions.map(
      (one) =>
        mayManage &&
        one.severity !== 'info' && {
          key: one.id,
          tone: toneOfSeverity[one.severity],
          title: conditionTitle(t, one),
          help: t('home.whatHelps'),
          href: one.id === 'automations_broken' ? '/automations' : '/settings/diagnostics',
        },
    ),
    firmware !== null && {
      key: 'firmware',
      tone: firmware.state === 'stopped' ? 'fault' : 'attention',
      title: t(firmware.state === 'stopped' ? 'home.firmware.stopped' : 'home.firmware.approval'),
      help: t('home.firmware.one', { type: nameOf(firmware.type), version: firmware.version }),
      href: '/settings/updates',
    },
    cloud !== null && {
      key: 'cloud',
      tone: toneOfSeverity[cloud.severity],
      title: conditionTitle(t, cloud),
      help: t('home.cloudHelp'),
      href: '/settings/remote',
    },
    waiting > 0 && {
      key: 'unknown-devices',
      tone: 'notice',
      title: t('home.unknown.title', { count: waiting }),
      help: t('home.unknown.help'),
      href: '/unknown-devices',
    },
    ssid !== null && {
      key: 'wifi',
      tone: 'notice',
      title: t('home.wifi.title', { ssid }),
      help: t('home.wifi.help'),
      href: '/settings/network',
    },
  ];
  return things.filter((one) => one !== false);
}
