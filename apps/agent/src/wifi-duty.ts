import type { Clock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import type { WifiStatus } from '@station/protocol/agent-api';
import { createNetworkManager, undoHotspot } from './wifi/adapters/network-manager/network-manager.ts';
import { createReachability } from './wifi/adapters/reachability.ts';
import { createSettingsBackend } from './wifi/adapters/settings-backend.ts';
import type { Config } from './config.ts';
import type { SavedNetworks } from './core/backup-ports.ts';
import type { NetworkActions } from './core/network-port.ts';
import { ssidFromText } from './core/wifi-network.ts';
import { listenForPortal } from './core/adapters/http-listener.ts';
import { createCodeGuard } from './portal/code-guard.ts';
import { openPortal } from './portal/portal-server.ts';
import { createStationCode } from './portal/station-code.ts';
import { createProxyService, type ProxyServiceParts } from './stack/proxy-service.ts';
import { createIntentFile, cleanUpHotspot } from './wifi/hotspot-cleanup.ts';
import { createWatchdog } from './wifi/watchdog.ts';
import type { Radio, Reachability } from './wifi/wifi-ports.ts';
import type { WatchdogParts } from './wifi/wifi-run.ts';

export type WifiDuty = AsyncDisposable & {
  /** Keeps the station reachable until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
  status(): WifiStatus;
  /** Null: the agent does not manage the network. */
  saved: SavedNetworks | null;
  /** Null: the agent does not manage the network. */
  network: NetworkActions | null;
};

type Parts = Omit<ProxyServiceParts, 'service'> &
  Pick<WatchdogParts, 'conditions' | 'clock' | 'logger' | 'random' | 'bootId'> & {
    startedAt: string;
    signal: AbortSignal;
    /** A radio other than NetworkManager's, for simulators. */
    createRadio?: CreateRadio;
  };

/** `reachability`: what can be reached over that radio. */
export type CreateRadio = (clock: Clock) => { radio: Radio; reachability: Reachability };

/** Builds the Wi-Fi part of the agent: NetworkManager, watchdog and setup page (docs/adr/0016). */
export function createWifiDuty(config: Config, parts: Parts): WifiDuty {
  const { watchdog: mode, hotspot, country, connectivityUrl, stationUrl } = config.wifi;
  const { conditions, clock, logger, random, bootId, signal } = parts;
  const { dataDir } = config;
  const proxy = createProxyService({ ...parts, service: config.stack.reverseProxyService });
  if (mode === 'off') {
    const intent = createIntentFile({ disk: nodeDisk, dataDir, bootId });
    return idleDuty(parts.startedAt, (ending) =>
      cleanUpHotspot({ intent, undoHotspot: () => undoHotspot({ logger }), proxy, clock }, ending),
    );
  }
  const { ssid, password, address, prefixLength, portalPort: port } = hotspot;
  const files = { disk: nodeDisk, dataDir };
  const readCode = createStationCode({ ...files, configured: config.stationCode, logger });
  const guard = createCodeGuard({ ...files, readCode, clock, logger });
  const simulated = parts.createRadio?.(clock);
  const manager = simulated ? null : createNetworkManager({ interface: config.wifi.interface, country, clock, logger });
  const radio = (simulated?.radio ?? manager) as Radio;
  const watchdog = createWatchdog({
    radio,
    conditions,
    clock,
    logger,
    random,
    bootId,
    mode,
    country,
    reachability: simulated?.reachability ?? createReachability({ internetUrl: connectivityUrl }),
    proxy,
    backend: createSettingsBackend(config.backend),
    openPortal: (actions) =>
      openPortal({ address, port, listenHttp: listenForPortal, actions, guard, logger, clock, random, signal }),
    hotspot: { ssid: ssidFromText(ssid), password, address, prefixLength },
    stationAddress: stationUrl.href,
    ...files,
  });
  return {
    run: async (ending) => {
      // It is made before anybody needs it, so that the log has it from the first start on.
      if (password === null) await readCode();
      await watchdog.run(ending);
    },
    status: watchdog.status,
    saved: manager?.saved ?? null,
    network: watchdog.network,
    [Symbol.asyncDispose]: async () => manager?.[Symbol.asyncDispose](),
  };
}

/** WIFI_WATCHDOG=false: the agent does not manage the network. */
const idleDuty = (since: string, run: WifiDuty['run']): WifiDuty => ({
  run,
  status: () => ({
    mode: 'disabled',
    ssid: null,
    ip: null,
    signal: null,
    connectivity: null,
    hotspot: { active: false, ssid: null, ip: null, clients: 0 },
    watchdog: { state: 'DISABLED', since, attempts: 0, nextRetryAt: null, lastFailure: null },
  }),
  saved: null,
  network: null,
  [Symbol.asyncDispose]: async () => undefined,
});
