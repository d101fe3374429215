import { Type, type Static, type TSchema } from 'typebox';

/**
 * The states, events and commands of a device type (contracts, sections 8 and 9). Commands are checked against it before they are
 * published. Pages display a device from it, also one of an unknown type.
 */

const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const ValueKind = Type.Enum(['number', 'boolean', 'text']);

/** One value of a device's state. */
export const Capability = Type.Object({
  name: Type.String({ description: 'Key in the state.' }),
  kind: ValueKind,
  unit: Nullable(Type.String({ description: 'SI symbol or %; null for none.' })),
  min: Nullable(Type.Number()),
  max: Nullable(Type.Number()),
});
export type Capability = Static<typeof Capability>;

/** Parameters are required; undeclared ones are refused. */
export const CommandParameter = Type.Object({
  name: Type.String(),
  kind: ValueKind,
  min: Nullable(Type.Number()),
  max: Nullable(Type.Number()),
  capability: Nullable(Type.String({ description: 'The state value that this parameter sets.' })),
});
export type CommandParameter = Static<typeof CommandParameter>;

export const CommandType = Type.Object({ action: Type.String(), parameters: Type.Array(CommandParameter) });
export type CommandType = Static<typeof CommandType>;

export const DeviceType = Type.Object({
  type: Type.String(),
  capabilities: Type.Array(Capability, { description: 'The most important one comes first.' }),
  commands: Type.Array(CommandType, { description: 'In addition to the commands of every device.' }),
  events: Type.Array(Type.String(), { description: 'Values of `data.action` in its events.' }),
});
export type DeviceType = Static<typeof DeviceType>;
export const DeviceTypes = Type.Array(DeviceType);

const number = (name: string, unit: string | null, min: number | null, max: number | null): Capability => ({
  name,
  kind: 'number',
  unit,
  min,
  max,
});
const boolean = (name: string): Capability => ({ name, kind: 'boolean', unit: null, min: null, max: null });
const sets = ({ name, kind, min, max }: Capability): CommandParameter => ({ name, kind, min, max, capability: name });

const power = boolean('power');
const motion = boolean('motion');
const brightness = number('brightness', '%', 1, 100);
const battery = number('battery', '%', 0, 100);
const setPower: CommandType = { action: 'set_power', parameters: [sets(power)] };

/** The built-in types. */
export const builtInDeviceTypes: readonly DeviceType[] = [
  {
    type: 'climate',
    capabilities: [number('temperature', '°C', -40, 85), number('humidity', '%', 0, 100), battery],
    commands: [],
    events: [],
  },
  { type: 'pir', capabilities: [motion, battery], commands: [], events: ['motion_detected', 'motion_cleared'] },
  {
    type: 'switch-pir',
    capabilities: [power, motion],
    commands: [setPower],
    events: ['motion_detected', 'motion_cleared', 'button_pressed'],
  },
  {
    type: 'light',
    capabilities: [power, brightness],
    commands: [setPower, { action: 'set_brightness', parameters: [sets(brightness)] }],
    events: ['button_pressed'],
  },
];
