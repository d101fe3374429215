import type { Group } from '../features-decide.ts';
import { textIn, type Values } from '../foreign-values-decide.ts';
import { choice, type Draw, drawn, listIn, numberIn, part, textsIn } from './discovery-values-decide.ts';

/** Lists that a thermostat without one has, and what it may say that it does (home-assistant.io, "MQTT climate (HVAC)" and "MQTT water heater"). */
const usual = {
  modes: ['auto', 'off', 'cool', 'heat', 'dry', 'fan_only'],
  heaterModes: ['off', 'eco', 'electric', 'gas', 'heat_pump', 'high_demand', 'performance'],
  fan: ['auto', 'low', 'medium', 'high'],
  swing: ['on', 'off'],
  actions: ['off', 'preheating', 'heating', 'cooling', 'drying', 'idle', 'fan', 'defrosting'],
} as const;

/** What is set: its state and its command. */
export const placesOf = (word: string) => ({
  state: `${word}_state_topic`,
  template: `${word}_state_template`,
  command: `${word}_command_topic`,
});
export const currentPlaces = (word: string) => ({
  state: `current_${word}_topic`,
  template: `current_${word}_template`,
});
const actionKeys = { state: 'action_topic', template: 'action_template' };
const presetKeys = { ...placesOf('preset_mode'), template: 'preset_mode_value_template' };

const listOr = (config: Values, key: string, otherwise: readonly string[]): readonly unknown[] =>
  textsIn(config, key).length > 0 ? listIn(config, key) : otherwise;

/** One target, or one to heat to and one to cool to. */
export const climate: Draw = ({ config, component }, end) => {
  const of = { group: 'climate' as Group, end };
  const unit = textIn(config, 'temperature_unit') === 'F' ? '°F' : '°C';
  const range = { unit, min: numberIn(config, 'min_temp'), max: numberIn(config, 'max_temp') };
  const target = (word: string, name: string, label: string) =>
    part(config, placesOf(word), { ...of, ...range, name, label }, { kind: 'number' });
  const chosen = (keys: ReturnType<typeof placesOf>, [name, label]: [string, string], values: readonly unknown[]) =>
    part(config, keys, { ...of, name, label }, choice(values));
  const single = target('temperature', 'occupied_heating_setpoint', 'Heat to');
  return drawn([
    single ?? target('temperature_low', 'occupied_heating_setpoint', 'Heat to'),
    single === null ? target('temperature_high', 'occupied_cooling_setpoint', 'Cool to') : null,
    part(config, currentPlaces('temperature'), { ...of, unit, name: 'local_temperature' }, { kind: 'number' }),
    chosen(
      placesOf('mode'),
      ['system_mode', 'Mode'],
      listOr(config, 'modes', component === 'water_heater' ? usual.heaterModes : usual.modes),
    ),
    part(config, actionKeys, { ...of, name: 'running_state' }, choice(usual.actions)),
    chosen(placesOf('fan_mode'), ['fan_mode', 'Fan mode'], listOr(config, 'fan_modes', usual.fan)),
    chosen(placesOf('swing_mode'), ['swing_mode', 'Swing'], listOr(config, 'swing_modes', usual.swing)),
    chosen(presetKeys, ['preset', 'Preset'], listIn(config, 'preset_modes')),
  ]);
};
