import { Type, type TObject, type TSchema } from 'typebox';
import { builtInDeviceTypes, type CommandParameter, type DeviceType } from './device-types.ts';

/** Schemas of the parameters of commands (contracts, section 8). */

const closed = { additionalProperties: false } as const;
const nothing = Type.Object({}, closed);

/** Commands of every device. The station itself sends `ota_update` and `wifi_update`; people cannot choose their parameters. */
export const commonCommands = {
  reboot: nothing,
  factory_reset: nothing,
  ota_update: Type.Object(
    {
      url: Type.String({ minLength: 1, maxLength: 2048, pattern: '^https?://' }),
      version: Type.String({ minLength: 1, maxLength: 128 }),
      checksum: Type.String({ pattern: '^(sha256:)?[0-9a-fA-F]{64}$' }),
      size: Type.Integer({ minimum: 1 }),
    },
    closed,
  ),
  wifi_update: Type.Object(
    { ssid: Type.String({ minLength: 1, maxLength: 32 }), password: Type.String({ maxLength: 64 }) },
    closed,
  ),
} as const satisfies Record<string, TObject>;

/** The schema of a command's parameters; null when a device of the type does not understand the action. */
export function commandSchema(type: string, action: string): TObject | null {
  const command = typeNamed(type)?.commands.find((known) => known.action === action);
  if (command) return schemaOf(command.parameters);
  return Object.hasOwn(commonCommands, action) ? commonCommands[action as keyof typeof commonCommands] : null;
}

/** Every action that a device of the type understands. An unknown type understands only the common ones. */
export function actionsOf(type: string): string[] {
  const own = typeNamed(type)?.commands.map(({ action }) => action) ?? [];
  return [...own, ...Object.keys(commonCommands)];
}

const typeNamed = (type: string): DeviceType | undefined => builtInDeviceTypes.find((known) => known.type === type);

const schemaOf = (parameters: readonly CommandParameter[]): TObject =>
  Type.Object(Object.fromEntries(parameters.map((parameter) => [parameter.name, valueSchema(parameter)])), closed);

function valueSchema({ kind, min, max }: CommandParameter): TSchema {
  switch (kind) {
    case 'boolean':
      return Type.Boolean();
    case 'text':
      return Type.String({ maxLength: max ?? 1024 });
    case 'number':
      return Type.Number({ ...(min === null ? {} : { minimum: min }), ...(max === null ? {} : { maximum: max }) });
  }
}
