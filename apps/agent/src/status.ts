import type { Status } from '@station/protocol/agent-api';
import type { Conditions } from './core/conditions.ts';
import type { Config } from './config.ts';
import { rollbackTarget } from './stack/operation-decide.ts';
import type { StackEngine } from './stack/ports.ts';
import type { Updater } from './stack/journal-keeper.ts';
import type { Firmware } from './firmware/firmware.ts';
import type { AgentPort } from './http/port.ts';
import type { Loop } from './stack/update-flow.ts';
import type { ReleasePoll } from './stack/release-poll.ts';
import { createServiceList } from './stack/stack-status.ts';
import type { StackWork } from './stack/blockers.ts';
import type { WifiDuty } from './wifi-duty.ts';

export type StatusParts = {
  config: Config;
  updater: Updater;
  loop: Loop;
  poll: ReleasePoll;
  work: StackWork;
  engine: StackEngine;
  firmware: Firmware;
  wifi: Pick<WifiDuty, 'status'>;
  conditions: Conditions;
  startedAt: string;
  agentVersion: string;
};

/** What the agent says of itself over its API, put together from its rooms at each request. */
export function createStatus(parts: StatusParts): AgentPort {
  const { updater, loop, poll, work, config, conditions, wifi } = parts;
  const services = createServiceList(parts);
  const versions = () => ({
    currentVersion: updater.isLoaded() ? (updater.journal().installed?.version ?? null) : null,
    latestVersion: poll.latest()?.version ?? null,
    agentVersion: parts.agentVersion,
  });
  return {
    version: versions,
    wifiStatus: wifi.status,
    update: loop.update,
    rollback: loop.rollback,
    check: async () => {
      const [answer, firmware] = await Promise.all([loop.check(), parts.firmware.check()]);
      const latestVersion = poll.latest()?.version ?? null;
      return {
        release: { ok: answer.kind === 'ok', latestVersion, updateAvailable: loop.updateAvailable() },
        firmware,
      };
    },
    status: async (): Promise<Status> => {
      const journal = updater.isLoaded() ? updater.journal() : null;
      const operation = updater.operation();
      const target = journal && rollbackTarget(journal);
      return {
        stationId: config.stationId,
        startedAt: parts.startedAt,
        ...versions(),
        latestNotes: poll.latest()?.notes ?? null,
        updateAvailable: loop.updateAvailable(),
        updating: operation !== null,
        autoUpdate: config.release.autoUpdate,
        lastCheckAt: poll.lastCheckAt(),
        lastError: work.lastError(),
        operation,
        rollback: target ? { version: target.release.version, createdAt: target.at } : null,
        quarantined: journal?.quarantined ?? [],
        history: journal?.history ?? [],
        stack: { services: await services() },
        firmware: parts.firmware.status(),
        wifi: wifi.status(),
        conditions: conditions.list(),
      };
    },
  };
}
