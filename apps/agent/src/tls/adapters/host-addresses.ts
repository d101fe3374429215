import { networkInterfaces } from 'node:os';
import type { InterfaceAddress } from '../tls-ports.ts';

/** The addresses that the machine has now, without loopback. */
export function readHostAddresses(): InterfaceAddress[] {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    addresses.filter(({ internal }) => !internal).map(({ address }) => ({ interface: name, address })),
  );
}
