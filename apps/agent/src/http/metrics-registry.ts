import { Counter, Gauge, Registry } from 'prom-client';
import type { Status } from '@station/protocol/agent-api';

/** What the agent counts while it runs. */
export type Tally = {
  operations: Record<'updated' | 'failed' | 'rolled_back' | 'rollback_failed', number>;
  healthChecks: Record<'passed' | 'failed', number>;
  firmwareDownloads: Record<'done' | 'failed' | 'refused', number>;
  images: Record<'healed' | 'not_healed', number>;
  unexpectedErrors: number;
};

export type Measured = { status: Status; tally: Tally; agentVersion: string; uptimeSeconds: number };

/** The agent's metrics in the Prometheus text format. Each call makes its own registry without shared state. */
export async function renderMetrics(measured: Measured): Promise<{ text: string; contentType: string }> {
  const registry = new Registry();
  addTally(registry, measured.tally);
  addStatus(registry, measured.status);
  addFirmware(registry, measured.status.firmware);
  addProcess(registry, measured);
  return { text: await registry.metrics(), contentType: registry.contentType };
}

function addTally(registry: Registry, tally: Tally): void {
  const counter = (name: string, help: string, labelNames: string[] = []) =>
    new Counter({ name: `station_agent_${name}`, help, labelNames, registers: [registry] });
  const operations = counter('operations_total', 'Updates and rollbacks that have ended, by result.', ['result']);
  for (const [result, count] of Object.entries(tally.operations)) operations.inc({ result }, count);
  const checks = counter('health_checks_total', 'Finished health checks of a release, by verdict.', ['verdict']);
  for (const [verdict, count] of Object.entries(tally.healthChecks)) checks.inc({ verdict }, count);
  const downloads = counter('firmware_downloads_total', 'Attempts to fetch firmware into the cache, by result.', [
    'result',
  ]);
  for (const [result, count] of Object.entries(tally.firmwareDownloads)) downloads.inc({ result }, count);
  const images = counter('damaged_images_total', 'Damaged images that were found, by what became of them.', ['result']);
  for (const [result, count] of Object.entries(tally.images)) images.inc({ result }, count);
  counter('unexpected_errors_total', 'Unexpected errors; the log has the details.').inc(tally.unexpectedErrors);
}

function addStatus(registry: Registry, status: Status): void {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `station_agent_${name}`, help, labelNames, registers: [registry] });
  const operation = gauge('operation', '1 while an operation is in this phase.', ['kind', 'phase']);
  if (status.operation) operation.set({ kind: status.operation.kind, phase: status.operation.phase }, 1);
  const progress = gauge('operation_progress_ratio', 'Bytes fetched by the operation under way; 0 to 1.');
  progress.set((status.operation?.progress.percent ?? 0) / 100);
  const condition = gauge('condition', '1 for each condition that stands.', ['condition', 'severity']);
  for (const { id, severity } of status.conditions) condition.set({ condition: id, severity }, 1);
  const release = gauge('release', '1 for the release that is installed.', ['version']);
  if (status.currentVersion !== null) release.set({ version: status.currentVersion }, 1);
  gauge('update_available', '1 when a newer release is known.').set(status.updateAvailable ? 1 : 0);
  gauge('quarantined_releases', 'Releases that failed on this station.').set(status.quarantined.length);
  const service = gauge('service_running', '1 when the service of the stack runs.', ['service']);
  for (const { name, state } of status.stack.services) service.set({ service: name }, state === 'running' ? 1 : 0);
  if (status.lastCheckAt !== null) {
    const checkedAt = gauge('last_check_timestamp_seconds', 'When the release manifest was last read.');
    checkedAt.set(Date.parse(status.lastCheckAt) / 1000);
  }
}

function addFirmware(registry: Registry, firmware: Status['firmware']): void {
  const gauge = (name: string, help: string, labelNames: string[] = []) =>
    new Gauge({ name: `station_agent_firmware_${name}`, help, labelNames, registers: [registry] });
  const cached = gauge('cached', '1 for each firmware that devices can get.', ['name', 'version']);
  for (const { name, version } of firmware.items) cached.set({ name, version }, 1);
  const handedOver = gauge('handed_over', '1 when the backend has accepted the firmware.', ['name']);
  for (const item of firmware.items) handedOver.set({ name: item.name }, item.handedOver === true ? 1 : 0);
  const progress = gauge('download_progress_ratio', 'Progress of the running download; 0 to 1.', ['name', 'version']);
  const { download } = firmware;
  if (download) {
    const { name, version } = download;
    progress.set({ name, version }, (download.progress.percent ?? 0) / 100);
  }
  gauge('refused', 'Refused firmware entries of the manifest.').set(firmware.refused?.length ?? 0);
  if (firmware.lastCheckAt !== null) {
    const checkedAt = gauge('last_check_timestamp_seconds', 'When the firmware manifest was last read.');
    checkedAt.set(Date.parse(firmware.lastCheckAt) / 1000);
  }
}

/** Only the most useful process metrics: the full set needs observers that never stop. */
function addProcess(registry: Registry, { agentVersion, uptimeSeconds }: Measured): void {
  const registers = [registry];
  const gauge = (name: string, help: string, value: number) => new Gauge({ name, help, registers }).set(value);
  const info = new Gauge({ name: 'station_agent_info', help: 'The agent.', labelNames: ['version'], registers });
  info.set({ version: agentVersion }, 1);
  const memory = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  gauge('station_agent_uptime_seconds', 'Time since the agent started.', uptimeSeconds);
  gauge('process_resident_memory_bytes', 'Resident memory.', memory.rss);
  gauge('nodejs_heap_size_used_bytes', 'JavaScript heap in use.', memory.heapUsed);
  gauge('nodejs_external_memory_bytes', 'Memory of native objects.', memory.external);
  const cpu = new Counter({ name: 'process_cpu_seconds_total', help: 'User and system CPU time.', registers });
  cpu.inc((user + system) / 1e6);
}
