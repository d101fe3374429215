import type { TFunction } from 'i18next';
import type { Capability, CommandType, DeviceType } from '@station/protocol/device-types';
import { ownValue } from '@station/protocol/own-value';
import { numberFormat } from './formats.ts';
import { orElse } from './words.ts';

/** A value of a device and its description. */
export type CapabilityValue = { capability: Capability; value: unknown };

/* Turns values into text. An unknown name is shown as the device sends it. */

/** "set_point" → "Set point" */
export const spelled = (name: string): string => {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll(/[_-]+/g, ' ')
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** The name of a type's own in the reader's language, if it has one. */
const nameIn = (names: Readonly<Record<string, string>> | undefined, locale: string): string | undefined =>
  ownValue(names, locale.split('-')[0] ?? '') ?? names?.['en'];

/** The app's own texts come after those of the type. */
export const capabilityName = (
  t: TFunction,
  locale: string,
  { key, names }: Pick<Capability, 'key' | 'names'>,
): string => nameIn(names, locale) ?? orElse(t, `device.capability.${key}`, spelled(key));

/** @param described undefined: the type is not known, so its name is spelled out. */
export const typeName = (locale: string, type: string, described: DeviceType | undefined): string =>
  nameIn(described?.names, locale) ?? spelled(type);

export const commandName = (locale: string, { action, names }: Pick<CommandType, 'action' | 'names'>): string =>
  nameIn(names, locale) ?? spelled(action);

/** A number and its unit apart, for where they are of different size; a word otherwise. */
export function valueParts(
  t: TFunction,
  locale: string,
  { capability, value }: CapabilityValue,
): { value: string; unit: string | null } {
  if (typeof value === 'boolean') {
    const own = nameIn(ownValue(capability.valueNames, String(value)), locale);
    return { value: own ?? t(value ? 'device.value.yes' : 'device.value.no'), unit: null };
  }
  if (typeof value === 'number')
    return { value: formatNumber(locale, capability, value), unit: capability.unit ?? null };
  if (typeof value !== 'string' || value === '') return { value: '–', unit: null };
  return { value: nameIn(ownValue(capability.valueNames, value), locale) ?? value, unit: null };
}

/** "21.4 °C", "45 %", "On" */
export function valueWords(t: TFunction, locale: string, reading: CapabilityValue): string {
  const { value, unit } = valueParts(t, locale, reading);
  return unit === null ? value : `${value}\u00a0${unit}`;
}

/**
 * With its name where the value alone is unclear: "Humidity 45 %", "Hot: No", "Child lock: On", but "No motion".
 * @param isSettable a switch: that it is on says nothing without its name.
 */
export function readingWords(t: TFunction, locale: string, reading: CapabilityValue, isSettable: boolean): string {
  const words = valueWords(t, locale, reading);
  const { capability } = reading;
  const name = capabilityName(t, locale, capability);
  if (typeof reading.value === 'number') return `${name} ${words}`;
  const saysItAll = capability.kind === 'boolean' && capability.valueNames !== undefined && !isSettable;
  return saysItAll ? words : `${name}: ${words}`;
}

/** From here on only the magnitude says something: 1e308 has 309 digits. */
const hugeNumber = 1e15;

/** Sensible digits: a tenth of a degree, whole percents. */
export function formatNumber(locale: string, { unit }: Capability, value: number): string {
  if (Math.abs(value) >= hugeNumber)
    return numberFormat(locale, { notation: 'scientific', maximumFractionDigits: 1 }).format(value);
  const digits = unit === '%' || Math.abs(value) >= 100 ? 0 : 1;
  const atLeast = unit === '°C' ? 1 : 0;
  const format = numberFormat(locale, { maximumFractionDigits: digits, minimumFractionDigits: atLeast });
  return format.format(value).replace('-', '\u2212');
}

/** An event of a device, as a sentence. */
export function eventWords(
  t: TFunction,
  locale: string,
  { action }: Readonly<Record<string, unknown>>,
  type: DeviceType | undefined,
): string {
  if (typeof action !== 'string') return t('device.event.some');
  const event = type?.events.find((one) => one.action === action);
  return nameIn(event?.names, locale) ?? orElse(t, `device.event.${action}`, spelled(action));
}
