import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openBundle } from '../../../scripts/build-agent.ts';
import type { Machine } from '../../station-machine/machine.ts';
import { openShared } from './shared-station.ts';

/** Relative to the repository. */
const programs = 'tests/station-machine/programs';

/** Puts one of the programs into the folder /root of the machine. */
async function bring(machine: Machine, name: 'bluez-stand-in' | 'bus-probe'): Promise<void> {
  const { workspace, files } = await openShared();
  const folder = await workspace.subfolder('programs');
  await using build = await openBundle(`${programs}/${name}.ts`);
  const { output } = await build.generate({ format: 'esm', codeSplitting: false });
  await writeFile(join(folder, `${name}.mjs`), output[0].code);
  files.folders.set('programs', folder);
  await machine.must(`curl -sSf -o /root/${name}.mjs ${files.origin}/programs/${name}.mjs`);
}

/**
 * Starts the stand-in of bluetoothd (`programs/bluez-stand-in.ts`) as a service of the machine, with the Node of the backend's image. The
 * policy of the package bluez lets root own the name, and everybody call it.
 */
export async function startBluezStandIn(machine: Machine): Promise<void> {
  await bring(machine, 'bluez-stand-in');
  await machine.must(`docker cp station-backend:/usr/local/bin/node /root/node
    systemd-run --quiet --collect --unit=bluez-stand-in /root/node /root/bluez-stand-in.mjs
    for i in $(seq 50); do busctl --system list | grep -q '^org\\.bluez .*bluez-stand-in' && exit; sleep 0.2; done
    journalctl --no-pager -u bluez-stand-in; exit 1`);
}

/** What `programs/bus-probe.ts` found out in the backend's container, as the backend's user. */
export type Reach = { names: string[]; answers: Record<string, string> };

export async function probeBus(machine: Machine): Promise<Reach> {
  await bring(machine, 'bus-probe');
  const output = await machine.must(
    `docker exec --interactive station-backend sh -c 'cat >/tmp/bus-probe.mjs && exec node /tmp/bus-probe.mjs' </root/bus-probe.mjs`,
  );
  return JSON.parse(output) as Reach;
}

/** A browser that waits for devices. */
export type Browser = Disposable & {
  /** Names of the devices that it shows. */
  shown: Set<string>;
  /** States of the radio that it was told, in order. */
  radio: string[];
};

type Told = {
  type: string;
  candidate?: { address: string; name: string };
  radio?: { state: string };
};

export function openBrowser(address: string, token: string): Browser {
  const socket = new WebSocket(`ws://${address}/ws`);
  const browser: Browser = { shown: new Set(), radio: [], [Symbol.dispose]: () => socket.close() };
  socket.addEventListener('open', () => socket.send(JSON.stringify({ type: 'auth', token })));
  socket.addEventListener('message', ({ data }) => {
    const { type, candidate, radio } = JSON.parse(String(data)) as Told;
    if (type === 'provisioning_candidate' && candidate !== undefined) browser.shown.add(candidate.name);
    if (type === 'provisioning_radio' && radio !== undefined) browser.radio.push(radio.state);
  });
  return browser;
}
