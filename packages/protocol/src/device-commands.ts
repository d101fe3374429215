import { Type, type Static, type TSchema } from 'typebox';
import { Id } from './rest.ts';

/** What people ask of devices, and how it went on (contracts, sections 8, 9 and 10). */

const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/**
 * POST /api/devices/:id/command (user; what every device understands: role owner or admin) → 202 DeviceCommand: pending, or failed when the
 * broker did not take it. How it goes on is told by `device_command` on /ws. Errors: 400 with the pointer of each fault when the device's
 * type has no such command, 404 not_found, 409 device_offline.
 */
export const CommandRequest = Type.Object(
  {
    action: Type.String({ minLength: 1, maxLength: 64 }),
    params: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
);
export type CommandRequest = Static<typeof CommandRequest>;

/** Pending until the device confirms it or does not: `expired` had no answer in time, `failed` was refused or could not be handed over. */
export const CommandStatus = Type.Enum(['pending', 'confirmed', 'failed', 'expired']);
export type CommandStatus = Static<typeof CommandStatus>;

export const DeviceCommand = Type.Object({
  commandId: Type.String({ description: 'As the device sees it.' }),
  deviceId: Id,
  action: Type.String(),
  status: CommandStatus,
  reason: Nullable(Type.String({ description: 'Of one that failed, in English; never a secret.' })),
});
export type DeviceCommand = Static<typeof DeviceCommand>;
