import type { EventChannel } from '@station/protocol/cloud';
import {
  type CloudMethod,
  cloudMethods,
  type DeviceCommandParams,
  rpcErrors,
  type SceneRunParams,
} from '@station/protocol/cloud-rpc';
import { StationError } from '@station/kit/station-error';
import type { Scene, SceneRun } from '@station/protocol/scenes';
import { checkCommand, type CommandResult, type Commands } from '../core/commands.ts';
import { announcedBody, type DeviceTypes } from '../core/type-registry.ts';
import { toDevice, type DeviceStore } from '../store/device-store.ts';
import { type CallId, RpcError, type RpcMethod } from './rpc-server.ts';
import { type CommandKey, commandKey, type RememberedCommands } from './remembered-commands.ts';

/** The scenes of the household; the cloud sees all of them. */
export type CloudScenes = {
  list(): Promise<Scene[]>;
  /** @throws {StationError} `not_found` */
  run(id: string): Promise<SceneRun>;
};

export type MethodParts = {
  devices: Pick<DeviceStore, 'list' | 'findById'>;
  types: DeviceTypes;
  commands: Pick<Commands, 'send'>;
  scenes: CloudScenes;
  remembered: RememberedCommands;
  setChannels(channels: readonly EventChannel[]): Promise<void>;
};

/** Methods that the cloud may call (specification, "Cloud JSON-RPC methods"). */
export function createMethods(parts: MethodParts): Record<CloudMethod, RpcMethod> {
  const { devices, types, scenes, remembered } = parts;
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
        return onceOf(remembered, key, () => sendCommand(parts, { deviceId, action, params }));
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
    'scenes.list': {
      params: cloudMethods['scenes.list'].params,
      run: async () => ({ scenes: await scenes.list() }),
    },
    'scene.run': {
      params: cloudMethods['scene.run'].params,
      run: async ({ sceneId, idempotencyKey }: SceneRunParams, id: CallId, connectionId: string) => {
        const key = commandKey(idempotencyKey, id, { sceneId }, connectionId);
        return onceOf(remembered, key, () => runScene(scenes, sceneId));
      },
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

/** The outcome of an earlier run says that it is one. */
async function onceOf<T extends object>(
  remembered: RememberedCommands,
  key: CommandKey | null,
  action: () => Promise<T>,
): Promise<T & { repeated?: true }> {
  let isRepeated = false;
  const result = await remembered.once(key, action, () => (isRepeated = true));
  return isRepeated ? { ...result, repeated: true } : result;
}

async function runScene(scenes: CloudScenes, id: string): Promise<SceneRun> {
  try {
    return await scenes.run(id);
  } catch (error) {
    if (error instanceof StationError && error.code === 'not_found')
      throw new RpcError(rpcErrors.unknownScene, 'There is no such scene.');
    throw error;
  }
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
