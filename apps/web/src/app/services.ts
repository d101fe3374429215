import { QueryClient } from '@tanstack/react-query';
import type { DeviceCommand } from '@station/protocol/device-commands';
import type { Device } from '@station/protocol/devices';
import { devicesKey, followDevices } from '../api/devices.ts';
import { createLiveService } from '../api/live.ts';
import { createMemory } from '../api/memory.ts';
import { createRefreshTurns } from '../api/refresh-turns.ts';
import { createSend } from '../api/request.ts';
import type { Services } from '../api/services.ts';
import { createSessionService } from '../api/session.ts';
import { createStationClock } from '../api/station-clock.ts';
import { followAgent, followConditions } from '../api/station.ts';
import { createStore } from '../api/store.ts';
import { followAutomations } from '../features/automations/follow-automations.ts';
import { followCloud } from '../features/cloud/follow-cloud.ts';
import { createDeviceControl, type DeviceControl } from '../features/devices/device-control.ts';
import { followFirmware } from '../features/firmware/follow-firmware.ts';
import { followDevicesWifi } from '../features/settings/follow-wifi.ts';
import { reloadOnMissingChunk, watchPageAge } from './new-version.ts';

/** The services of every page, and what the app alone has to start. */
export type AppServices = Services & { control: DeviceControl; fetchAhead: ReturnType<typeof reloadOnMissingChunk> };

export function createServices(): AppServices {
  const clock = createStationClock(() => Date.now());
  const memory = createMemory(() => localStorage);
  const session = createSessionService({
    send: createSend((...request) => fetch(...request), clock.observeHeader),
    turns: createRefreshTurns(memory),
    clock,
    memory,
    pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  });
  const live = createLiveService({
    url: () => `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`,
    token: session.token,
    tokenRefused: session.tokenRefused,
    stationNow: clock.now,
    onServerTime: clock.observeMessage,
  });
  // The station is often used without internet, so the browser's "offline" does not apply to it; and each view
  // decides for itself how often to ask, so a failed request is not repeated automatically.
  const always = { networkMode: 'always', retry: false } as const;
  const queries = new QueryClient({ defaultOptions: { queries: always, mutations: always } });
  const control = createDeviceControl({
    send: (id, body) => session.call<DeviceCommand>('POST', `/api/devices/${id}/command`, { body }),
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
  const readResult = createStore(memory.get('read-result'));
  readResult.subscribe(() => memory.set('read-result', readResult.get()));
  const outdated = watchPageAge(live, async () => (await fetch('/', { cache: 'no-store' })).text());
  const fetchAhead = reloadOnMissingChunk();
  return { session, live, control, queries, clock, memory, readResult, outdated, fetchAhead };
}

/** Starts what runs as long as the page is open. */
export function startServices(services: AppServices): void {
  const { session, live, control, queries } = services;
  session.state.subscribe(() => {
    const { kind } = session.state.get();
    if (kind === 'signed_in') live.open();
    if (kind !== 'signed_out') return;
    live.close();
    // The next person who logs in here must not see this person's data.
    queries.clear();
    control.clear();
  });
  followAgent(live, queries);
  followConditions(live, queries);
  followDevices(live, queries);
  followAutomations(live, queries);
  followFirmware(live, queries);
  followCloud(live, queries);
  followDevicesWifi(live, queries);
  live.onMessage(control.onMessage);
  queries.getQueryCache().subscribe(({ type, query }) => {
    const [kind] = query.queryKey as readonly unknown[];
    if (type === 'updated' && kind === devicesKey[0]) control.onDevices((query.state.data ?? []) as Device[]);
  });
  addEventListener('online', live.nudge);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') live.nudge();
  });
  void session.start();
}
