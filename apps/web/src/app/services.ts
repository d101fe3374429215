import { notifyManager, QueryClient } from '@tanstack/react-query';
import { operationPath } from '@station/protocol/operation-file';
import type { Device } from '@station/protocol/devices';
import { devicesKey, followDevices } from '../api/devices.ts';
import { createLiveService } from '../api/live.ts';
import { followScenes } from '../api/scenes.ts';
import { createDrafts } from '../api/drafts.ts';
import type { ReadAheadSession } from '../api/read-ahead.ts';
import type { Services, Toast } from '../api/services.ts';
import { followAgent, followConditions, followOperationFile } from '../api/station.ts';
import { createKeyedStore, createStore } from '../api/store.ts';
import { followAutomations } from '../features/automations/follow-automations.ts';
import { followCloud } from '../features/cloud/follow-cloud.ts';
import { createDeviceControl, type DeviceControl } from '../features/devices/device-control.ts';
import { followFirmware } from '../features/firmware/follow-firmware.ts';
import { followDevicesWifi } from '../features/settings/follow-wifi.ts';
import type { Early } from './early.ts';
import { forgetLastKnown } from './last-known.ts';
import { reloadOnMissingChunk, watchPageAge } from './new-version.ts';
import { fillQueries } from './snapshot-queries.ts';

/** The services of every page, and what the app alone has to start. */
export type AppServices = Services & {
  session: ReadAheadSession;
  control: DeviceControl;
  fetchAhead: ReturnType<typeof reloadOnMissingChunk>;
};

export function createServices({ clock, memory, session }: Early): AppServices {
  const live = createLiveService({
    url: () => `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`,
    token: session.token,
    tokenRefused: session.tokenRefused,
    stationNow: clock.now,
    onServerTime: clock.observeMessage,
    isHidden: () => document.hidden,
  });
  // Keys and taps come before timers. In a microtask, a page knows of its request before the next one: a second tap
  // does not send it again, and Escape does not lose its answer.
  notifyManager.setScheduler(queueMicrotask);
  // The station is often used without internet, so the browser's "offline" does not apply to it; and each view
  // decides for itself how often to ask, so a failed request is not repeated automatically.
  const always = { networkMode: 'always', retry: false } as const;
  // What was read just now is not read again because it is shown in one more place.
  const ofQueries = { ...always, staleTime: 1_000 };
  const queries = new QueryClient({ defaultOptions: { queries: ofQueries, mutations: always } });
  fillQueries(session, queries);
  const control = createDeviceControl({
    send: (id, body) => session.call('POST /api/devices/:id/command', { params: { id }, body }),
    onConfirmed: (id, values) => {
      const confirm = (device: Device): Device =>
        device.id === id ? { ...device, state: { ...device.state, ...values } } : device;
      queries.setQueryData<readonly Device[]>(devicesKey, (devices) => devices?.map(confirm));
    },
    readDevices: () => void queries.invalidateQueries({ queryKey: devicesKey }),
    after: (ms, run) => {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  });
  let shown: readonly Device[] = [];
  const readResult = createStore(memory.get('read-result'));
  readResult.subscribe(() => memory.set('read-result', readResult.get()));
  const devices = createKeyedStore<Device>(({ id }) => id);
  queries.getQueryCache().subscribe(({ type, query }) => {
    const [kind] = query.queryKey as readonly unknown[];
    if (kind !== devicesKey[0] || (type !== 'updated' && type !== 'removed')) return;
    const known = queries.getQueryData<readonly Device[]>(devicesKey) ?? [];
    if (known === shown) return;
    shown = known;
    devices.replace(known);
    control.onDevices(known);
  });
  const outdated = watchPageAge(live, async () => (await fetch('/', { cache: 'no-store' })).text());
  const load = reloadOnMissingChunk();
  let isKept = false;
  const keepOnce = async (): Promise<void> => {
    const { keepForOffline } = await import('./offline.ts');
    if (!isKept) keepForOffline(queries, session);
    isKept = true;
  };
  const fetchAhead: AppServices['fetchAhead'] = async (loads) => {
    await load(loads);
    // Then the browser has most of what it is to keep.
    await load([keepOnce]);
  };
  const finding = createStore(false);
  const toast = createStore<Toast | null>(null);
  return {
    session,
    live,
    control,
    queries,
    devices,
    clock,
    memory,
    readResult,
    drafts: createDrafts(memory),
    toast,
    finding,
    outdated,
    fetchAhead,
  };
}

/** Starts what runs as long as the page is open. */
export function startServices(services: AppServices): void {
  const { session, live, control, queries, drafts } = services;
  const follow = (): void => {
    const state = session.state.get();
    if (state.kind === 'signed_in') live.open();
    if (state.kind === 'unreachable') void showLastKnown(services);
    if (state.kind !== 'signed_out' && state.kind !== 'setup_needed') return;
    void forgetLastKnown();
    live.close();
    // Whose session has expired logs in again and goes on.
    if (state.kind === 'signed_out' && state.because === 'left') drafts.clear();
    // The next person who logs in here must not see this person's data.
    queries.clear();
    control.clear();
    services.finding.set(false);
    services.toast.set(null);
    services.toast.set(null);
  };
  session.state.subscribe(follow);
  // Before those that read again after each handshake.
  live.onMessage(({ type }) => type === 'hello' && session.readAhead());
  followAgent(live, queries);
  followOperationFile(live, queries, async () => (await fetch(operationPath, { cache: 'no-store' })).json());
  followConditions(live, queries);
  followDevices(live, queries);
  followAutomations(live, queries);
  followFirmware(live, queries);
  followCloud(live, queries);
  followDevicesWifi(live, queries);
  followScenes(live, queries);
  live.onMessage(control.onMessage);
  live.state.subscribe(() => {
    const { silence, link } = live.state.get();
    if (silence !== null || link === 'down') control.doubt();
  });
  addEventListener('online', live.nudge);
  addEventListener('offline', live.doubt);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') live.nudge();
  });
  follow();
  setTimeout(() => session.state.get().kind === 'checking' && void showLastKnown(services), patienceMs);
}

/** What home showed last is shown when the station has not answered until then. */
const patienceMs = 2_500;

async function showLastKnown({ session, queries, memory }: AppServices): Promise<void> {
  if (memory.get('signed-in-before') === null || !('caches' in globalThis)) return;
  const { restoreLastKnown } = await import('./offline.ts');
  await restoreLastKnown(queries, session).catch(() => undefined);
}
