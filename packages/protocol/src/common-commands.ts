import { Type, type TObject } from 'typebox';
import { longestWifiPassword } from './wifi-password.ts';
import { httpAddress } from './text-fields.ts';

const closed = { additionalProperties: false } as const;
const nothing = Type.Object({}, closed);

/**
 * Parameters of the commands that every device understands (contracts, section 8). Only the owner, admins
 * and the cloud send them; automations and scenes only `reboot`, or none.
 */
export const commonCommands = {
  reboot: nothing,
  factory_reset: nothing,
  ota_update: Type.Object(
    {
      url: Type.String({ minLength: 1, maxLength: 2048, ...httpAddress }),
      version: Type.String({ minLength: 1, maxLength: 128 }),
      checksum: Type.String({ pattern: '^(sha256:)?[0-9a-fA-F]{64}$', expected: 'a SHA-256 of 64 hexadecimal digits' }),
      size: Type.Integer({ minimum: 1 }),
    },
    closed,
  ),
  wifi_update: Type.Object(
    { ssid: Type.String({ minLength: 1, maxLength: 32 }), password: Type.String({ maxLength: longestWifiPassword }) },
    closed,
  ),
} as const satisfies Record<string, TObject>;

export const commonActions: readonly string[] = Object.keys(commonCommands);
