import { ImprovSerial } from 'improv-wifi-serial-sdk/dist/serial.js';
import { deviceName, networkNames } from './usb-names.ts';

/** Why a device on the cable could not be used. `refused`: it could not join the network. */
export type UsbFault = 'busy' | 'not_improv' | 'refused' | 'lost';

/** A device that speaks Improv over a serial cable (improv-wifi.com, "Improv via Serial"). */
export type UsbDevice = {
  /** As it names itself; empty: it does not. */
  name: string;
  /** Names of the networks that it sees; empty when it cannot search. */
  networks(): Promise<readonly string[]>;
  join(network: { ssid: string; password: string }): Promise<'joined' | UsbFault>;
  close(): Promise<void>;
};

/** Web Serial, as far as it is used here. */
type Port = { open(options: { baudRate: number }): Promise<void>; close(): Promise<void> };
type Serial = { requestPort(): Promise<Port> };
const serialOf = (): Serial | null => ('serial' in navigator ? (navigator.serial as Serial) : null);

/** Browsers offer it to secure pages only. */
export const usbProblem = (): 'insecure' | 'unsupported' | null =>
  !isSecureContext ? 'insecure' : serialOf() === null ? 'unsupported' : null;

const baudRate = 115_200;
/** A device that restarts because it was plugged in needs some seconds. */
const answersWithinMs = 10_000;
const joinsWithinMs = 60_000;

/** The library logs every byte it sends, and the password is among them. */
const silent = { log: () => undefined, error: () => undefined, debug: () => undefined };

/** Lets the person choose a port and talks to the device on it. Null: nothing was chosen. */
export async function connectUsbDevice(): Promise<UsbDevice | UsbFault | null> {
  const port = await serialOf()
    ?.requestPort()
    .catch(() => null);
  if (!port) return null;
  try {
    await port.open({ baudRate });
  } catch {
    return 'busy';
  }
  const improv = new ImprovSerial(port, silent);
  try {
    await improv.initialize(answersWithinMs);
  } catch {
    await port.close().catch(() => undefined);
    return 'not_improv';
  }
  const lost = new Promise<'lost'>((resolve) => improv.addEventListener('disconnect', () => resolve('lost')));
  return {
    name: deviceName(improv.info?.name ?? ''),
    networks: async () => {
      const found = await improv.scan().catch(() => []);
      return networkNames(found.map(({ name }) => name));
    },
    join: ({ ssid, password }) =>
      Promise.race([
        improv.provision(ssid, password, joinsWithinMs).then(
          () => 'joined' as const,
          () => 'refused' as const,
        ),
        lost,
      ]),
    close: async () => {
      await improv.close().catch(() => undefined);
      await port.close().catch(() => undefined);
    },
  };
}
