import { Type, type TObject, type TSchema } from 'typebox';
import { commonActions, commonCommands } from './common-commands.ts';
import type { CommandType, DeviceType, Parameter } from './device-types.ts';

/** What the parameters of a command must look like (contracts, sections 8 and 8a). */

/**
 * The schema of a command's parameters; null when a device of the type does not understand the action.
 * @param type undefined: an unknown type, which understands only the common commands.
 */
export function commandSchema(type: DeviceType | undefined, action: string): TObject | null {
  const command = type?.commands.find((known) => known.action === action);
  if (command) return parametersSchema(command);
  return Object.hasOwn(commonCommands, action) ? commonCommands[action as keyof typeof commonCommands] : null;
}

/** Every action that a device of the type understands. */
export const actionsOf = (type: DeviceType | undefined): string[] => [
  ...(type?.commands ?? []).map(({ action }) => action),
  ...commonActions,
];

function parametersSchema({ params }: CommandType): TObject {
  const properties = Object.entries(params?.properties ?? {});
  const isRequired = (name: string): boolean => params?.required?.includes(name) ?? true;
  const schemas = properties.map(([name, parameter]) => {
    const schema = valueSchema(parameter);
    return [name, isRequired(name) ? schema : Type.Optional(schema)] as const;
  });
  return Type.Object(Object.fromEntries(schemas), { additionalProperties: false });
}

const defaultMaxLength = 512;

function valueSchema({ type, minimum, maximum, maxLength, enum: values }: Parameter): TSchema {
  const range = { ...(minimum === undefined ? {} : { minimum }), ...(maximum === undefined ? {} : { maximum }) };
  switch (type) {
    case 'boolean':
      return Type.Boolean();
    case 'number':
      return Type.Number(range);
    case 'integer':
      return Type.Integer(range);
    case 'string':
      return values === undefined ? Type.String({ maxLength: maxLength ?? defaultMaxLength }) : Type.Enum(values);
  }
}
