import { builtInDeviceTypes, findBuiltInType } from '@station/protocol/builtin-device-types';
import type { DeviceTypes } from '../src/core/type-registry.ts';

/** The types of a station that has only the built-in ones. */
export const builtInTypes: DeviceTypes = {
  list: () => builtInDeviceTypes,
  find: findBuiltInType,
  of: ({ type }) => findBuiltInType(type),
  announced: () => [],
};
