import type { CheckResult, HistoryEntry, Operation, OperationPhase, Status } from '@station/protocol/agent-api';
import { formatBytes } from '@station/kit/machine-decide';
import { plainText } from '@station/protocol/plain-text';
import type { Static } from 'typebox';

const named = (version: string | null): string => version ?? 'an unknown release';

/** The station in a few lines; ends with a line break. */
export function statusText(status: Status): string {
  const { currentVersion, latestVersion, updateAvailable, rollback, quarantined, stack, clock, conditions } = status;
  const release = updateAvailable
    ? `${named(currentVersion)}; ${named(latestVersion)} is ready: station-agent update`
    : named(currentVersion);
  const rows: [string, string][] = [
    ['Station', status.stationId],
    ['Agent', `${status.agentVersion}, since ${status.startedAt}`],
    ['Release', release],
    ['Now', status.operation === null ? 'nothing is under way' : operationText(status.operation)],
    ['Previous', rollback === null ? 'there is no release to roll back to' : named(rollback.version)],
    ...quarantined.map(({ version, reason }): [string, string] => ['Held back', `${version}: ${reason}`]),
    ...stack.services.map(({ name, state, health }): [string, string] => [
      'Service',
      `${name}: ${state}${health === 'none' ? '' : `, ${health}`}`,
    ]),
    ['Network', networkText(status)],
    ...(clock === undefined ? [] : [['Clock', clockText(clock)] as [string, string]]),
    ...conditions.map(({ severity, message }): [string, string] => [severity.toUpperCase(), message]),
  ];
  return rows.map(([name, text]) => `${name.padEnd(10)} ${plainText(text)}\n`).join('');
}

function networkText({ wifi: { mode, ssid, ip, hotspot } }: Status): string {
  const where = ip === null ? '' : `, ${ip}`;
  switch (mode) {
    case 'client':
      return `Wi-Fi ${ssid ?? 'without a name'}${where}`;
    case 'hotspot':
      return `its own hotspot ${hotspot.ssid ?? ''}, ${hotspot.clients} joined`;
    case 'ethernet':
      return `cable${where}`;
    case 'offline':
      return 'none';
    case 'disabled':
      return `not managed by the agent (WIFI_WATCHDOG=false)${where}`;
  }
}

const clockText = ({ trusted, source, now }: NonNullable<Status['clock']>): string =>
  `${now}, ${trusted ? `set by ${source === 'ntp' ? 'NTP' : 'a person'}` : 'not known to be right'}`;

/** What the update server offers, after it was asked. */
export function checkText({ release, firmware }: Static<typeof CheckResult>, status: Status): string {
  const { latestVersion } = release;
  const offered = release.updateAvailable
    ? `Release ${named(latestVersion)} is ready; ${named(status.currentVersion)} runs. Install it: station-agent update`
    : `Release ${named(status.currentVersion)} runs; there is no newer one to install.`;
  const files = `Firmware: ${status.firmware.items.length} ${status.firmware.items.length === 1 ? 'file' : 'files'} for devices.`;
  return [
    release.ok ? offered : `The update server gave no usable answer: ${status.lastError?.message ?? 'see the log'}`,
    firmware.ok ? files : `Firmware could not be asked for: ${status.firmware.lastError ?? 'see the log'}`,
    '',
  ]
    .map(plainText)
    .join('\n');
}

const phases: Readonly<Record<OperationPhase, string>> = {
  preparing: 'preparing',
  pulling: 'downloading',
  switching: 'restarting the services',
  verifying: 'checking that it is healthy',
  reverting: 'going back',
  verifying_revert: 'checking that the release before is healthy',
};

/** What is under way. Bytes only while they are loaded. */
export function operationText({ kind, version, phase, progress, healthCheckUntil }: Operation): string {
  const what = kind === 'bootstrap' ? 'Starting the stack' : kind === 'update' ? 'Update to' : 'Rollback to';
  const name = kind === 'bootstrap' ? '' : ` ${named(version)}`;
  return `${what}${name}: ${phases[phase]}${phase === 'pulling' ? bytesOf(progress) : ''}${until(healthCheckUntil)}`;
}

const bytesOf = ({ doneBytes, totalBytes }: Operation['progress']): string =>
  `, ${formatBytes(doneBytes)}${totalBytes === null ? '' : ` of ${formatBytes(totalBytes)}`}`;

const until = (time: string | undefined): string => (time === undefined ? '' : `, until ${time} at the earliest`);

/** How an operation has ended. */
export function endText(entry: HistoryEntry): string {
  const { kind, from, to, reason } = entry;
  const why = reason === null ? '' : `: ${reason}`;
  if (!isSuccess(entry)) {
    const what = `${kind === 'rollback' ? 'The rollback to' : 'Release'} ${named(to)}`;
    if (entry.result === 'rolled_back') return `${what} failed${why}. ${named(from)} runs again.`;
    if (entry.isSwitched === true) return `${what} failed, and ${named(from)} did not become healthy again${why}.`;
    return `${what} ${kind === 'rollback' ? 'failed' : 'was not installed'}${why}.`;
  }
  const took = `${(entry.durationMs / 1000).toFixed(1)} s`;
  const away = entry.downtimeMs === null ? '' : `, of which ${(entry.downtimeMs / 1000).toFixed(1)} s offline`;
  return `${named(to)} runs now instead of ${named(from)} (${took}${away}).`;
}

/** Of a rollback that came to its end without a reason to go back again, `rolled_back` is the success. */
export const isSuccess = ({ kind, result, reason }: HistoryEntry): boolean =>
  kind === 'rollback' ? result === 'rolled_back' && reason === null : result === 'updated';
