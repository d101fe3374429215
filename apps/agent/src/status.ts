import type { Status } from '@station/protocol/agent-api';
import type { AgentConditions } from '@station/kit/conditions';
import type { Config } from './config.ts';
import type { Firmware } from './firmware/firmware.ts';
import type { AgentPort } from './core/agent-port.ts';
import type { Stack } from './stack/stack.ts';
import type { WifiDuty } from './wifi-duty.ts';

export type StatusParts = {
  config: Config;
  stack: Stack;
  firmware: Firmware;
  wifi: Pick<WifiDuty, 'status'>;
  conditions: AgentConditions;
  startedAt: string;
  agentVersion: string;
};

/** The agent's status for its API, collected from the features at each request. */
export function createStatus(parts: StatusParts): AgentPort {
  const { stack, config, conditions, wifi, firmware, startedAt, agentVersion } = parts;
  return {
    version: () => ({ ...stack.versions(), agentVersion }),
    wifiStatus: wifi.status,
    update: stack.update,
    rollback: stack.rollback,
    check: async () => {
      const [answer, firmwareCheck] = await Promise.all([stack.check(), firmware.check()]);
      const { latestVersion } = stack.versions();
      return {
        release: { ok: answer.kind === 'ok', latestVersion, updateAvailable: stack.updateAvailable() },
        firmware: firmwareCheck,
      };
    },
    status: async (): Promise<Status> => ({
      stationId: config.stationId,
      startedAt,
      agentVersion,
      autoUpdate: config.release.autoUpdate,
      ...(await stack.status()),
      firmware: firmware.status(),
      wifi: wifi.status(),
      conditions: conditions.list(),
    }),
  };
}
