import type { Clock } from '@station/kit/clock';
import { createBus, systemBusAddress } from '@station/kit/message-bus';

export type MdnsName = AsyncDisposable & {
  /**
   * The name of this machine in its network, like `station-2.local`: Avahi takes another one than the host name when a machine has that
   * already. Null: Avahi does not answer, so the machine has no name there. Never rejects.
   */
  read(): Promise<string | null>;
};

const callMs = 2_000;

/** By Avahi on D-Bus (org.freedesktop.Avahi.Server). @param options.busAddress the system bus when not given. */
export function createMdnsName({
  clock,
  busAddress = systemBusAddress,
}: {
  clock: Clock;
  busAddress?: string;
}): MdnsName {
  const bus = createBus({ address: busAddress, rules: [], clock, callMs });
  return {
    read: async () => {
      try {
        const [name] = await bus.call({
          destination: 'org.freedesktop.Avahi',
          path: '/',
          interface: 'org.freedesktop.Avahi.Server',
          member: 'GetHostNameFqdn',
        });
        return typeof name === 'string' && name !== '' ? name : null;
      } catch {
        return null;
      }
    },
    [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
  };
}
