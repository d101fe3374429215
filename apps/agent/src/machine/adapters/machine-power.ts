import type { Clock } from '@station/kit/clock';
import { type BusCall, createBus, systemBusAddress } from '@station/kit/message-bus';
import type { MachinePower } from '../machine-ports.ts';

const callMs = 5_000;

/**
 * Restarts the machine through systemd-logind (org.freedesktop.login1(5)), which root may ask without any capability.
 * @param options.busAddress D-Bus server address; the system bus when not given.
 */
export function createMachinePower(options: { clock: Clock; busAddress?: string }): MachinePower {
  const address = options.busAddress ?? systemBusAddress;
  const manager = {
    destination: 'org.freedesktop.login1',
    path: '/org/freedesktop/login1',
    interface: 'org.freedesktop.login1.Manager',
    mayStart: true,
  } as const;
  /** A connection of its own for each call: it is asked for rarely, and the agent stays small meanwhile. */
  const ask = async (call: Pick<BusCall, 'member' | 'signature' | 'body'>): Promise<readonly unknown[]> => {
    await using bus = createBus({ address, rules: [], clock: options.clock, callMs });
    return await bus.call({ ...manager, ...call });
  };
  let known: Promise<boolean> | null = null;
  return {
    canRestart: async () => {
      known ??= ask({ member: 'CanReboot' }).then(([answer]) => answer === 'yes');
      const isKnown = known;
      return isKnown.catch(() => {
        // The bus may come later.
        if (known === isKnown) known = null;
        return false;
      });
    },
    // Not interactive: nobody is there to confirm it.
    restart: async () => void (await ask({ member: 'Reboot', signature: 'b', body: [false] })),
  };
}
