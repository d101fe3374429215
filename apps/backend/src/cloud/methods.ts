import type { EventChannel } from '@station/protocol/cloud';
import { type CloudMethod, cloudMethods, type DeviceCommandParams, rpcErrors } from '@station/protocol/cloud-rpc';
import { checkCommand, type CommandResult, type Commands } from '../core/commands.ts';
import { announcedBody, type DeviceTypes } from '../core/type-registry.ts';
import { toDevice, type DeviceStore } from '../store/device-store.ts';
import { type CallId, RpcError, type RpcMethod } from './rpc-server.ts';
import { commandKey, type RememberedCommands } from './remembered-commands.ts';

export type MethodParts = {
  devices: Pick<DeviceStore, 'list' | 'findById'>;
  types: DeviceTypes;
  commands: Pick<Commands, 'send'>;
  remembered: RememberedCommands;
  setChannels(channels: readonly EventChannel[]): Promise<void>;
};

/** Methods that the cloud may call (specification, "Cloud JSON-RPC methods"). */
export function createMethods(parts: MethodParts): Record<CloudMethod, RpcMethod> {
  const { devices, types, remembered } = parts;
  return {
    'device.command': {
      params: cloudMethods['device.command'].params,
      run: async ({ deviceId, command, idempotencyKey }: DeviceCommandParams, id: CallId, connectionId: string) => {
        const { action, ...params } = command;
        const device = await devices.findById(deviceId);
        if (device === null) throw unknownDevice();
        // Checked first: valid parameters are small and flat.
        const checked = checkCommand(types.of(device), action, params);
        if (checked.kind !== 'good') throw refusalOf(checked);
        const key = commandKey(idempotencyKey, id, { deviceId, command }, connectionId);
        let isRepeated = false;
        const send = () => sendCommand(parts, { deviceId, action, params });
        const result = await remembered.once(key, send, () => (isRepeated = true));
        return isRepeated ? { ...result, repeated: true } : result;
      },
    },
    'devices.snapshot': {
      params: cloudMethods['devices.snapshot'].params,
      run: async () => ({ devices: (await devices.list()).map(toDevice) }),
    },
    'device_types.list': {
      params: cloudMethods['device_types.list'].params,
      run: async () => ({ deviceTypes: [...types.list(), ...types.announced().map(announcedBody)] }),
    },
    'station.setActiveChannels': {
      params: cloudMethods['station.setActiveChannels'].params,
      run: async ({ channels }: { channels: EventChannel[] }) => {
        await parts.setChannels(channels);
        return { ok: true };
      },
    },
  };
}

async function sendCommand(
  { devices, commands }: MethodParts,
  command: { deviceId: string; action: string; params: Record<string, unknown> },
): Promise<{ status: 'ok' }> {
  if ((await devices.findById(command.deviceId))?.status === 'offline') {
    throw new RpcError(rpcErrors.deviceOffline, 'The device is offline.');
  }
  const result = await commands.send({ ...command, userId: null, cause: { kind: 'cloud', id: null } });
  if (result.kind !== 'accepted') throw refusalOf(result);
  const { status, reason } = result.command;
  if (result.mayHaveEffect)
    throw new RpcError(rpcErrors.outcomeUnknown, reason ?? 'The command may have taken effect.');
  if (status === 'failed') throw new RpcError(rpcErrors.failed, reason ?? 'The command could not be sent.');
  return { status: 'ok' };
}

const unknownDevice = (): RpcError => new RpcError(rpcErrors.unknownDevice, 'There is no such device.');

function refusalOf(result: Exclude<CommandResult, { kind: 'accepted' }>): RpcError {
  switch (result.kind) {
    case 'unknown_device':
      return unknownDevice();
    case 'unknown_action':
      return new RpcError(rpcErrors.badParams, `The action must be one of: ${result.known.join(', ')}`);
    case 'bad_params': {
      const faults = result.faults.map(({ pointer, message }) => `${pointer || '/'} ${message}`);
      return new RpcError(rpcErrors.badParams, `The command is not valid: ${faults.join('; ')}`.slice(0, 500));
    }
    case 'too_large':
      return new RpcError(rpcErrors.badParams, 'The command is larger than the device can receive.');
  }
}
