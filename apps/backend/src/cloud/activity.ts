import { type Clock, isoTime } from '@station/kit/clock';
import type { CloudActivity, CloudRequest } from '@station/protocol/cloud-activity';
import type { DeviceCommandParams } from '@station/protocol/cloud-rpc';
import { RpcError, type RpcMethod } from './rpc-server.ts';

/** Recent requests of the cloud, in memory. */
export type ActivityRecord = {
  note(request: CloudRequest, outcome: CloudActivity['outcome'], command?: { deviceId: string; action: string }): void;
  /** Newest first. */
  latest(): CloudActivity[];
};

const kept = 50;

export function createActivityRecord(parts: { clock: Clock; onChange(): void }): ActivityRecord {
  let entries: CloudActivity[] = [];
  return {
    note: (request, outcome, command) => {
      const { deviceId = null, action = null } = command ?? {};
      const at = isoTime(parts.clock.now());
      const [last, ...earlier] = entries;
      const isSame =
        last?.request === request && last.outcome === outcome && last.deviceId === deviceId && last.action === action;
      // Repeated requests share one line, so that a cloud that asks every second does not fill the list.
      if (isSame) entries = [{ ...last, at, times: last.times + 1 }, ...earlier];
      else entries = [{ at, request, deviceId, action, outcome, times: 1 }, ...entries].slice(0, kept);
      parts.onChange();
    },
    latest: () => entries,
  };
}

/** Wraps the methods, so that each call and its outcome are recorded. */
export function noteCalls<Name extends CloudRequest>(
  methods: Record<Name, RpcMethod>,
  record: Pick<ActivityRecord, 'note'>,
): Record<Name, RpcMethod> {
  const noted = (name: Name, method: RpcMethod): RpcMethod => ({
    ...method,
    run: async (params, id, connectionId) => {
      const command = name === 'device.command' ? commandOf(params) : undefined;
      try {
        const result = await method.run(params, id, connectionId);
        record.note(name, 'done', command);
        return result;
      } catch (error) {
        record.note(name, error instanceof RpcError ? 'refused' : 'failed', command);
        throw error;
      }
    },
  });
  const entries = (Object.entries(methods) as [Name, RpcMethod][]).map(([name, method]) => [name, noted(name, method)]);
  return Object.fromEntries(entries) as Record<Name, RpcMethod>;
}

const commandOf = ({ deviceId, command }: DeviceCommandParams): { deviceId: string; action: string } => ({
  deviceId,
  action: command.action,
});
