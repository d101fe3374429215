import type { CheckOutcome, Finding } from '@station/kit/doctor-decide';
import { parseObject } from '@station/kit/json';
import type { AgentFindingCode } from '@station/protocol/agent-findings';
import type {
  BackendAnswer,
  NeededImage,
  ProjectFacts,
  PublicCertificateFacts,
  StateFacts,
  UnitFacts,
  WifiFacts,
} from './doctor-ports.ts';

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

/** Ids of the keys that may sign releases, and where they come from. Null: signatures are not checked. */
export function decideUpdateKeys(keys: {
  configured: readonly string[];
  learned: readonly string[];
  learnedFile: string;
}): Outcome | null {
  if (keys.configured.length === 0) return null;
  const learned = keys.learned.length === 0 ? '' : `; ${keys.learnedFile}: ${keys.learned.join(', ')}`;
  return { detail: `UPDATE_PUBLIC_KEY: ${keys.configured.join(', ')}${learned}`, findings: [] };
}

type ShownCertificate = {
  names: readonly string[];
  validFrom: string;
  validUntil: string;
  /** Is compared on a phone. */
  fingerprint: string;
  /** Until when phones trust the station that have the authority before this one. */
  beforeUntil: string | null;
};

/**
 * @param mode HTTPS.
 * @param found the certificate of the web app; null: there is none that the authority signed.
 */
export function decideEncryption(
  { mode, folder }: { mode: 'own' | 'acme' | 'off'; folder: string },
  found: ShownCertificate | null,
  now: string,
): Outcome {
  if (mode === 'off') return { detail: 'HTTPS=off', findings: [] };
  if (found === null) return { detail: null, findings: [{ code: 'certificate_missing', values: { folder } }] };
  const { names, validFrom: from, validUntil: until, fingerprint, beforeUntil } = found;
  const findings: Found[] = [];
  if (now < from || now >= until) findings.push({ code: 'certificate_expired', values: { from, until } });
  if (beforeUntil !== null && now < beforeUntil) {
    findings.push({ code: 'authority_renewed', values: { until: beforeUntil.slice(0, 10) } });
  }
  return {
    detail: `${names.join(', ')}; ${until.slice(0, 10)}; SHA-256 ${fingerprint}`,
    findings,
  };
}

/**
 * The certificate for the public name, which the proxy gets from an authority on the internet.
 * @param now ISO 8601.
 */
export function decidePublicCertificate(name: string, { served, log }: PublicCertificateFacts, now: string): Outcome {
  if (served.kind === 'none') {
    const reason = lastFaultOf(log) ?? served.reason;
    return { detail: name, findings: [{ code: 'public_certificate_missing', values: { name, reason } }] };
  }
  const { issuer, validFrom, validUntil: until } = served;
  const detail = `${name}; ${until.slice(0, 10)}; ${issuer}`;
  const from = Date.parse(validFrom);
  const end = Date.parse(until);
  // The proxy renews it when a third of its time is left.
  const isLate = Date.parse(now) > end - (end - from) / 6;
  if (!isLate) return { detail, findings: [] };
  const reason = lastFaultOf(log) ?? 'the log of the proxy has no reason';
  const code = now < until ? 'public_certificate_ending' : 'public_certificate_ended';
  return { detail, findings: [{ code, values: { name, until, reason } }] };
}

const mostReasonCharacters = 300;

/** Why the proxy got no certificate, as it logged it last. */
function lastFaultOf(log: readonly string[]): string | null {
  const faults = log.flatMap((line): string[] => {
    const { logger, msg, error } = parseObject(line) ?? {};
    const isOfCertificate = typeof logger === 'string' && /^(tls\.|http\.acme_client)/.test(logger);
    // `will retry` repeats the fault before it in more words.
    return isOfCertificate && typeof error === 'string' && msg !== 'will retry' ? [error] : [];
  });
  return faults.at(-1)?.slice(0, mostReasonCharacters) ?? null;
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

/**
 * @param missing images that the engine does not have.
 * @param isSynced whether a pull ends only when the files of the image are on the disk; null: no setting decides that.
 */
export function decideImages(
  needed: readonly NeededImage[],
  missing: readonly NeededImage[],
  isSynced: boolean | null,
): Outcome {
  const findings = missing.map(({ service, version, isInstalled }): Found => ({
    code: isInstalled ? 'image_missing' : 'rollback_image_missing',
    values: { service, version },
  }));
  if (isSynced === false) findings.push({ code: 'image_files_unsynced', values: {} });
  return { detail: [...new Set(needed.map(({ version }) => version))].join(', ') || null, findings };
}

/** @param installed services of the installed release; a container that somebody removed is listed nowhere. */
export function decideServices(project: ProjectFacts, installed: readonly string[] = []): Outcome | null {
  if (project.kind === 'failed') return null;
  const names = project.services.map(({ service }) => service);
  const stopped = project.services
    .filter(({ state, health }) => state !== 'running' || health === 'unhealthy')
    .map(({ service, state, health }) => ({ service, state: state === 'running' ? health : state }));
  const absent = installed.filter((service) => !names.includes(service));
  const findings = [...stopped, ...absent.map((service) => ({ service, state: 'removed' }))].map((values): Found => ({
    code: 'service_not_running',
    values,
  }));
  return { detail: names.join(', ') || null, findings };
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

/** @param name of the machine in its network; null: it has none. */
export const decideLocalName = (name: string | null): Outcome => ({
  detail: name,
  findings: name === null ? [{ code: 'local_name_missing', values: {} }] : [],
});

const mostPackages = 5;

/** @param packages that have a security update. */
export function decideMachineUpdates(packages: readonly string[]): Outcome {
  const names = packages.slice(0, mostPackages).join(', ') + (packages.length > mostPackages ? ', …' : '');
  const values = { count: String(packages.length), packages: names };
  return { detail: null, findings: packages.length === 0 ? [] : [{ code: 'security_updates_pending', values }] };
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
  // Not `silent`, which may follow from a stopped service: this is why it does not start.
  return port === '80'
    ? { detail: url, findings: [{ code: 'port_80_taken', values: { reason: `it answered ${status}` } }] }
    : { detail: url, findings: [{ code: 'port_taken', values: { port } }] };
}
