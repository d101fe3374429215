import type { ForeignDevices } from '../src/core/foreign-devices-port.ts';

/** There are no gateways. */
export const noForeignDevices: ForeignDevices = {
  filters: () => [],
  findLogin: () => null,
  isForeign: () => false,
  read: () => ({ messages: [], stored: null }),
  write: () => null,
  refused: () => undefined,
  attach: () => ({ [Symbol.dispose]: () => undefined }),
};
