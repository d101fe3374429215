import type { HelperCommand, HelperEvent } from '@station/protocol/ble-frames';
import { connectJsonLines, type JsonLines } from './json-lines.ts';
import type { Machine } from './machine.ts';
import type { Advertisement, PeripheralEvent, PeripheralOrder } from './programs/peripheral-frames.ts';

/**
 * Simulated Bluetooth controllers (btvirt) under the machine's own bluetoothd: `hci0` is the station's, on each other one a device waits to be
 * set up (`programs/peripheral.ts`). All are in reach of each other.
 */
export type Bluetooth = {
  /** Waits to be set up by the station's own protocol. */
  device: Peripheral;
  /** Speaks Improv Wi-Fi. */
  improvDevice: Peripheral;
  /**
   * Starts the helper that ships, without privileges, on the station's controller. Each one is a process of its own, which ends with the
   * connection. Its notes are in /run/vstation/ble-helper.log.
   */
  startHelper(): Promise<Helper>;
  /** kill -9 of every helper, also of the backend's. @returns how many there were. */
  killHelpers(): Promise<number>;
  restartDaemon(): Promise<void>;
  /** All controllers go, as when a USB stick is pulled out. */
  removeControllers(): Promise<void>;
  /** Also unblocks them and switches them on. Idempotent. */
  insertControllers(): Promise<void>;
  /** What each controller and BlueZ say of links, and the end of the logs: for a test that failed. */
  look(): Promise<string>;
};

export type Helper = JsonLines<HelperCommand, HelperEvent>;

export type Peripheral = JsonLines<PeripheralOrder, { atMs: number } & PeripheralEvent> & {
  address: string;
  /** Resolves when it advertises. Replaces what it advertised. */
  advertise(advertisement: Advertisement): Promise<void>;
};

const helperPort = 4000;
const devicePort = 4101;
const improvPort = 4102;
/** What {@link startBluetooth} needs of a machine. */
export const bluetoothPorts: readonly number[] = [helperPort, devicePort, improvPort];
const helperLog = '/run/vstation/ble-helper.log';

/** btvirt counts the controllers in their addresses. */
const addressOf = (index: number): string => `00:AA:01:0${index}:00:0${index}`;

const startHelperProgram = `#!/bin/sh
exec setpriv --reuid=nobody --regid=nogroup --clear-groups env -i PATH=/usr/bin:/bin BLE_ADAPTER=hci0 \\
  /payload/node /payload/backend/station-ble-helper.mjs 2>> ${helperLog}
`;

/** A packet as small as that of many devices, so that payloads above 244 bytes are long writes, and one channel for all. */
const daemonSettings = '[GATT]\nExchangeMTU = 247\nChannels = 1\n';

/** The machine's payload must have `node`, `programs` and `backend` (`payload.ts`), and forward {@link bluetoothPorts}. */
export async function startBluetooth(machine: Machine): Promise<Bluetooth> {
  const insertControllers: Bluetooth['insertControllers'] = async () => {
    await machine.must(
      `modprobe hci_vhci
      powered() {
        busctl --timeout=10 set-property org.bluez /org/bluez/$1 org.bluez.Adapter1 Powered b true
      }
      try() {
        systemctl -q is-active vstation-controllers || systemd-run -q --collect --unit=vstation-controllers btvirt -L -l3
        for _ in $(seq 100); do [ -e /sys/class/bluetooth/hci2 ] && break; sleep 0.1; done
        rfkill unblock bluetooth
        systemctl start bluetooth
        for controller in hci0 hci1 hci2; do
          for left in $(seq 20 -1 0); do
            powered $controller 2>/run/vstation/powered && break
            [ $left -gt 0 ] || return 1
            sleep 0.2
          done
        done
      }
      mkdir -p /run/vstation
      until try; do
        # A simulated controller that lost a command while the machine was slow does not come up any more.
        echo "controllers again: $(cat /run/vstation/powered; ls /sys/class/bluetooth)" >&2
        journalctl --no-pager -n 15 -u bluetooth -u vstation-controllers >&2
        systemctl stop vstation-controllers
        while [ -e /sys/class/bluetooth/hci0 ]; do sleep 0.1; done
        systemctl restart bluetooth
      done`,
      { timeoutMs: 180_000 },
    );
  };
  await machine.writeFile('/etc/bluetooth/main.conf', daemonSettings);
  await insertControllers();
  await machine.writeFile('/run/vstation/start-helper', startHelperProgram, { mode: 0o755 });
  await machine.must(`systemd-run -q --unit=vstation-device /payload/node /payload/programs/peripheral.mjs hci1 ${devicePort}
    systemd-run -q --unit=vstation-improv /payload/node /payload/programs/peripheral.mjs hci2 ${improvPort}
    systemd-run -q --unit=vstation-helper busybox nc -ll -p ${helperPort} -e /run/vstation/start-helper`);
  return {
    device: await openPeripheral(machine, devicePort, addressOf(1)),
    improvDevice: await openPeripheral(machine, improvPort, addressOf(2)),
    startHelper: () => connectJsonLines(machine.forwardedPort(helperPort)),
    killHelpers: async () =>
      Number(
        await machine.must(`count=0
          for pid in $(pgrep -f 'station-ble-helper[.]mjs'); do kill -KILL "$pid" && count=$((count + 1)); done
          echo $count`),
      ),
    restartDaemon: async () => void (await machine.must('systemctl restart bluetooth')),
    removeControllers: async () =>
      void (await machine.must(`systemctl stop vstation-controllers
        while [ -e /sys/class/bluetooth/hci0 ]; do sleep 0.1; done`)),
    insertControllers,
    look: () =>
      machine.must(`for controller in hci0 hci1; do hciconfig $controller; hcitool -i $controller con; done
        busctl --timeout=5 tree org.bluez
        tail -n 60 ${helperLog}
        journalctl --no-pager -n 80 -u bluetooth -u vstation-controllers -u vstation-device
        dmesg | tail -n 30`),
  };
}

async function openPeripheral(machine: Machine, port: number, address: string): Promise<Peripheral> {
  const lines = await connectJsonLines<PeripheralOrder, { atMs: number } & PeripheralEvent>(
    machine.forwardedPort(port),
  );
  return {
    ...lines,
    address,
    advertise: async (advertisement) => {
      const from = lines.received.length;
      lines.send({ order: 'advertise', advertisement });
      await lines.next(`${advertisement.name} to advertise`, ({ event }) => event === 'advertises', { from });
    },
  };
}
