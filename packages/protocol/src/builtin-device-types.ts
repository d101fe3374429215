import climate from './device-types/climate.json' with { type: 'json' };
import light from './device-types/light.json' with { type: 'json' };
import pir from './device-types/pir.json' with { type: 'json' };
import switchPir from './device-types/switch-pir.json' with { type: 'json' };
import { type DeviceType, type DeviceTypeFinder, readDeviceType } from './device-types.ts';

/**
 * The types that every station knows (contracts, section 8a). @throws {Error} at import when a file is not a device type.
 */
export const builtInDeviceTypes: readonly DeviceType[] = [light, switchPir, pir, climate].map((file) => {
  const read = readDeviceType(file);
  if (read.kind === 'ok') return read.deviceType;
  throw new Error(`The built-in type ${file.type} is not valid: ${read.faults.join('; ')}`);
});

export const findBuiltInType: DeviceTypeFinder = (type) => builtInDeviceTypes.find((known) => known.type === type);
