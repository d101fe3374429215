import type { TFunction } from 'i18next';
import type { Capability } from '@station/protocol/device-types';
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

export const capabilityName = (t: TFunction, name: string): string =>
  orElse(t, `device.capability.${name}`, spelled(name));

export const typeName = (t: TFunction, type: string): string => orElse(t, `device.type.${type}`, spelled(type));

/** A number and its unit apart, for where they are of different size; a word otherwise. */
export function valueParts(
  t: TFunction,
  locale: string,
  { capability, value }: CapabilityValue,
): { value: string; unit: string | null } {
  if (typeof value === 'boolean') return { value: yesNo(t, capability, value), unit: null };
  if (typeof value === 'number') return { value: formatNumber(locale, capability, value), unit: capability.unit };
  return { value: typeof value === 'string' && value !== '' ? value : '–', unit: null };
}

/** "21.4 °C", "45 %", "On" */
export function valueWords(t: TFunction, locale: string, reading: CapabilityValue): string {
  const { value, unit } = valueParts(t, locale, reading);
  return unit === null ? value : `${value}\u00a0${unit}`;
}

/** With its name where the value alone is unclear: "Humidity 45 %", "Hot: No", but "No motion". */
export function readingWords(t: TFunction, locale: string, reading: CapabilityValue): string {
  const words = valueWords(t, locale, reading);
  const name = capabilityName(t, reading.capability.name);
  if (typeof reading.value === 'number') return `${name} ${words}`;
  const isKnown = orElse(t, `device.value.${reading.capability.name}.true`, '') !== '';
  return isKnown ? words : `${name}: ${words}`;
}

/** Sensible digits: a tenth of a degree, whole percents. */
export function formatNumber(locale: string, { unit }: Capability, value: number): string {
  const digits = unit === '%' || Math.abs(value) >= 100 ? 0 : 1;
  const atLeast = unit === '°C' ? 1 : 0;
  const format = new Intl.NumberFormat(locale, { maximumFractionDigits: digits, minimumFractionDigits: atLeast });
  return format.format(value).replace('-', '\u2212');
}

function yesNo(t: TFunction, { name }: Capability, value: boolean): string {
  const fallback = t(value ? 'device.value.yes' : 'device.value.no');
  return orElse(t, `device.value.${name}.${value ? 'true' : 'false'}`, fallback);
}

/** An event of a device, as a sentence. */
export function eventWords(t: TFunction, data: Readonly<Record<string, unknown>>): string {
  const { action } = data;
  return typeof action === 'string' ? orElse(t, `device.event.${action}`, spelled(action)) : t('device.event.some');
}
