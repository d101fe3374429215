import { useDeviceTypes } from '../api/devices.ts';
import { typeName } from './device-words.ts';
import { useLocale } from './i18n.ts';

/** Names of device types in the reader's language. */
export function useTypeName(): (type: string) => string {
  const locale = useLocale();
  const types = useDeviceTypes();
  return (type) => typeName(locale, type, types?.named(type));
}
