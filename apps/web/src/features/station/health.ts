import type { ConditionStatus, ServiceStatus, Status, WifiStatus } from '@station/protocol/agent-api';
import type { Tone } from '../../ui/tone.tsx';

/** The summary of the station's health, before it is turned into text. */
export type Health =
  /** The first release of all. */
  | { kind: 'installing'; version: string | null }
  | { kind: 'updating'; version: string | null }
  | { kind: 'going_back'; version: string | null }
  | { kind: 'reverting'; version: string | null; back: string | null }
  | { kind: 'starting' }
  | { kind: 'condition'; condition: ConditionStatus }
  | { kind: 'services_down'; names: readonly string[] }
  | { kind: 'nothing_installed' }
  | { kind: 'attention'; count: number }
  | { kind: 'ready'; version: string }
  | { kind: 'fine' };

/** The most important thing about the station right now; one thing only. */
export function healthOf(status: Status): Health {
  const { operation, conditions } = status;
  if (operation) return healthDuring(status, operation);
  const fault = conditions.find((condition) => condition.severity === 'fault');
  if (fault) return { kind: 'condition', condition: fault };
  const states = status.stack.services.map((service) => ({ name: service.name, state: serviceState(service) }));
  const down = states.filter(({ state }) => toneOfService[state] === 'fault').map(({ name }) => name);
  if (down.length > 0) return { kind: 'services_down', names: down };
  if (status.stack.services.length === 0 && status.currentVersion === null) return { kind: 'nothing_installed' };
  if (states.some(({ state }) => state === 'starting')) return { kind: 'starting' };
  const warnings = conditions.filter((condition) => condition.severity === 'warning').length;
  if (warnings > 0) return { kind: 'attention', count: warnings };
  const ready = offeredVersion(status);
  return ready === null ? { kind: 'fine' } : { kind: 'ready', version: ready };
}

function healthDuring(status: Status, operation: NonNullable<Status['operation']>): Health {
  const { version, kind, phase } = operation;
  if (phase === 'reverting' || phase === 'verifying_revert')
    return { kind: 'reverting', version, back: status.currentVersion };
  if (kind === 'rollback') return { kind: 'going_back', version };
  if (kind === 'bootstrap') return { kind: 'starting' };
  return { kind: status.currentVersion === null ? 'installing' : 'updating', version };
}

export function toneOf(health: Health): Tone {
  switch (health.kind) {
    case 'installing':
    case 'updating':
    case 'going_back':
    case 'starting':
      return 'working';
    case 'reverting':
    case 'attention':
    case 'nothing_installed':
      return 'attention';
    case 'condition':
    case 'services_down':
      return 'fault';
    case 'ready':
    case 'fine':
      return 'ok';
  }
}

/** The version an update would install now; null when there is none, or it is held back on this station. */
export function offeredVersion(status: Status): string | null {
  const { latestVersion, updateAvailable } = status;
  if (!updateAvailable || latestVersion === null) return null;
  return isHeldBack(status, latestVersion) ? null : latestVersion;
}

export const isHeldBack = (status: Status, version: string): boolean =>
  status.quarantined.some((entry) => entry.version === version);

type ServiceState = 'working' | 'starting' | 'unhealthy' | 'restarting' | 'stopped' | 'paused' | 'missing' | 'unknown';

/** Docker's state and health of a container as one state for people. */
export function serviceState(service: ServiceStatus): ServiceState {
  switch (service.state) {
    case 'running':
      if (service.health === 'unhealthy') return 'unhealthy';
      return service.health === 'starting' ? 'starting' : 'working';
    case 'created':
      return 'starting';
    case 'restarting':
      return 'restarting';
    case 'paused':
      return 'paused';
    case 'removing':
    case 'exited':
    case 'dead':
      return 'stopped';
    case 'missing':
      return 'missing';
    default:
      return 'unknown';
  }
}

export const toneOfService: Record<ServiceState, Tone> = {
  working: 'ok',
  starting: 'working',
  unhealthy: 'fault',
  restarting: 'fault',
  stopped: 'fault',
  paused: 'fault',
  missing: 'fault',
  unknown: 'attention',
};

type NetworkLine = {
  key: 'wifi' | 'cable' | 'hotspot' | 'trying' | 'offline';
  tone: Tone;
  ssid: string;
  isWithoutInternet: boolean;
};

/** The most important fact about the network; null when the agent does not manage it. */
export function networkLine({ mode, ssid, hotspot, watchdog, connectivity }: WifiStatus): NetworkLine | null {
  const isWithoutInternet = connectivity !== null && connectivity !== 'full';
  const online: Tone = isWithoutInternet ? 'attention' : 'ok';
  switch (mode) {
    case 'disabled':
      return null;
    case 'client':
      return { key: 'wifi', tone: online, ssid: ssid ?? '', isWithoutInternet };
    case 'ethernet':
      return { key: 'cable', tone: online, ssid: '', isWithoutInternet };
    case 'hotspot':
      return { key: 'hotspot', tone: 'attention', ssid: hotspot.ssid ?? '', isWithoutInternet: false };
    case 'offline': {
      const isTrying = watchdog.state === 'JOINING' || watchdog.state === 'CHECK' || watchdog.state === 'INIT';
      return {
        key: isTrying ? 'trying' : 'offline',
        tone: isTrying ? 'working' : 'fault',
        ssid: '',
        isWithoutInternet: false,
      };
    }
  }
}
