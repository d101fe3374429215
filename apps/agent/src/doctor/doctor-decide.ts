import type { CheckOutcome, Finding } from '@station/kit/doctor-decide';
import type { AgentFindingCode } from '@station/protocol/doctor-findings';
import type {
  BackendAnswer,
  NeededImage,
  ProjectFacts,
  StateFacts,
  UnitFacts,
  WifiFacts,
} from '../core/doctor-facts.ts';

export type Outcome = CheckOutcome<AgentFindingCode>;
type Found = Finding<AgentFindingCode>;

/** @param facts.mode permission bits of the environment file; null: there is none. */
export function decideConfiguration(facts: {
  file: string;
  mode: number | null;
  warnings: readonly string[];
}): Outcome {
  const { file, mode, warnings } = facts;
  const findings = warnings.map((problem): Found => ({ code: 'config_doubtful', values: { problem } }));
  if (mode !== null && (mode & 0o077) !== 0) {
    findings.push({ code: 'environment_open_to_others', values: { file, mode: mode.toString(8) } });
  }
  return { detail: mode === null ? null : file, findings };
}

export function decideState(folder: string, state: StateFacts): Outcome {
  const found = (): Found[] => {
    switch (state.kind) {
      case 'ok':
        return state.stale.map((file) => ({ code: 'state_file_stale', values: { file } }));
      case 'missing':
        return [{ code: 'state_missing', values: { folder } }];
      case 'damaged':
        return [{ code: 'state_damaged', values: { folder, reason: state.reason } }];
      case 'unreadable':
        return [{ code: 'state_unreadable', values: { folder, reason: state.reason } }];
    }
  };
  return { detail: folder, findings: found() };
}

/** @param engine the version of the engine, or why it does not answer. */
export function decideEngine(
  folder: string,
  engine: { version: string } | { failure: string },
  project: ProjectFacts,
): Outcome {
  if ('failure' in engine) {
    return { detail: null, findings: [{ code: 'engine_unreachable', values: { reason: engine.failure } }] };
  }
  const findings: Found[] =
    project.kind === 'ok' ? [] : [{ code: 'compose_fails', values: { folder, reason: project.reason } }];
  return { detail: engine.version, findings };
}

/** @param missing images that the engine does not have. */
export function decideImages(needed: readonly NeededImage[], missing: readonly NeededImage[]): Outcome {
  const findings = missing.map(({ service, version, isInstalled }): Found => ({
    code: isInstalled ? 'image_missing' : 'rollback_image_missing',
    values: { service, version },
  }));
  return { detail: [...new Set(needed.map(({ version }) => version))].join(', ') || null, findings };
}

export function decideServices(project: ProjectFacts): Outcome | null {
  if (project.kind === 'failed') return null;
  const findings = project.services.flatMap(({ service, state, health }): Found[] => {
    const isUp = state === 'running' && health !== 'unhealthy';
    return isUp
      ? []
      : [{ code: 'service_not_running', values: { service, state: state === 'running' ? health : state } }];
  });
  return { detail: project.services.map(({ service }) => service).join(', ') || null, findings };
}

export function decideUnit({ active, enabled }: UnitFacts): Outcome {
  const findings: Found[] = [];
  if (active !== 'active') findings.push({ code: 'unit_inactive', values: { state: active } });
  if (enabled !== 'enabled') findings.push({ code: 'unit_not_enabled', values: { state: enabled } });
  return { detail: `${active}, ${enabled}`, findings };
}

/** @param wanted WIFI_WATCHDOG and WIFI_INTERFACE. Null: the station has no Wi-Fi, and needs none. */
export function decideWifi(
  wanted: { mode: 'auto' | 'on' | 'off'; device: string | null },
  { devices, isBlocked, isNetworkManagerActive, isDnsPortTaken }: WifiFacts,
): Outcome | null {
  const isMissing = wanted.device === null ? devices.length === 0 : !devices.includes(wanted.device);
  if (wanted.mode === 'off' || (wanted.mode === 'auto' && wanted.device === null && isMissing)) return null;
  const findings: Found[] = [];
  if (isMissing) findings.push({ code: 'wifi_device_missing', values: { device: wanted.device ?? '' } });
  if (isBlocked) findings.push({ code: 'wifi_blocked', values: {} });
  if (!isNetworkManagerActive) findings.push({ code: 'network_manager_missing', values: {} });
  if (isDnsPortTaken) findings.push({ code: 'dns_port_taken', values: {} });
  return { detail: devices.join(', ') || null, findings };
}

/** @param reason why the manifest was not fetched; null: it was. */
export const decideReleaseServer = (url: string, reason: string | null): Outcome => ({
  detail: url,
  findings: reason === null ? [] : [{ code: 'release_server_silent', values: { url, reason } }],
});

/** The answer of the health check, which also tells whether the station or another program has port 80. */
export function decideBackend(url: string, port: string, answer: BackendAnswer): Outcome {
  const silent = (reason: string): Outcome => ({
    detail: url,
    findings: [{ code: 'backend_silent', values: { url, reason } }],
  });
  if (answer.kind === 'refused') return silent('nothing listens there');
  if (answer.kind === 'failed') return silent(answer.reason);
  const { status, body } = answer;
  if (status >= 200 && status < 300 && body.includes('"checks"')) return { detail: url, findings: [] };
  // The proxy answers with 502 or 503 while the backend is away; a failing backend names its checks.
  if (status >= 500) return silent(`it answered ${status}`);
  return port === '80'
    ? { detail: url, findings: [{ code: 'port_80_taken', values: { reason: `it answered ${status}` } }] }
    : silent(`it answered ${status} as another program would`);
}
