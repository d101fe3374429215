import { after } from 'node:test';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { backendPort } from '../../vstation/backend.ts';
import { bluetoothPorts, startBluetooth, type Bluetooth } from '../../vstation/bluetooth.ts';
import { openImage } from '../../vstation/image.ts';
import { startMachine, type Machine } from '../../vstation/machine.ts';
import { createBluetoothPayload } from '../../vstation/payload.ts';

type Shared = { workspace: Workspace; machine: Machine; bluetooth: Bluetooth };

let shared: Promise<Shared> | undefined;

async function open(): Promise<Shared> {
  const workspace = await createWorkspace();
  try {
    const payload = await createBluetoothPayload(workspace);
    const forwardedPorts = [...bluetoothPorts, backendPort];
    const machine = await startMachine({ workspace, image: await openImage(), payload, forwardedPorts });
    return { workspace, machine, bluetooth: await startBluetooth(machine) };
  } catch (error) {
    await workspace[Symbol.asyncDispose]();
    throw error;
  }
}

/** The one machine of all stories in this process. It ends with the last test. */
export const sharedMachine = (): Promise<Shared> => (shared ??= open());

after(async () => (await shared)?.workspace[Symbol.asyncDispose]());
