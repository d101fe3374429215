import { Type, type Static } from 'typebox';
import { Nullable } from './nullable.ts';
import { Id } from './rest.ts';

/** Commands to devices and their progress (contracts, sections 8, 9 and 10). */

/**
 * POST /api/devices/:id/command (user; commands of every device: role owner or admin) → 202 DeviceCommand: pending, or failed when the
 * broker did not accept it. `device_command` on /ws reports its progress. Errors: 400 with the pointer of each fault when the device's
 * type has no such command, 404 not_found, 409 device_offline, 413 command_too_large.
 */
export const CommandRequest = Type.Object(
  {
    action: Type.String({ minLength: 1, maxLength: 64 }),
    params: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);
export type CommandRequest = Static<typeof CommandRequest>;

/** `expired`: the device did not answer in time. `failed`: it was refused or could not be sent. */
const CommandStatus = Type.Enum(['pending', 'confirmed', 'failed', 'expired']);
type CommandStatus = Static<typeof CommandStatus>;

export const DeviceCommand = Type.Object({
  commandId: Type.String({ description: 'The id in the message to the device.' }),
  deviceId: Id,
  action: Type.String(),
  status: CommandStatus,
  reason: Nullable(Type.String({ description: 'Why it failed, in English; never a secret.' })),
});
export type DeviceCommand = Static<typeof DeviceCommand>;
