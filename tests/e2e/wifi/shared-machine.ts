import { after } from 'node:test';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { createEthernet } from '../../vstation/ethernet.ts';
import { createHome } from '../../vstation/home.ts';
import { openImage } from '../../vstation/image.ts';
import { startMachine, type Machine } from '../../vstation/machine.ts';
import { createPayload } from '../../vstation/payload.ts';
import { createPhone } from '../../vstation/phone.ts';

let shared: Promise<{ workspace: Workspace; machine: Machine }> | undefined;

async function open(): Promise<{ workspace: Workspace; machine: Machine }> {
  const workspace = await createWorkspace();
  try {
    const payload = await createPayload(workspace);
    return { workspace, machine: await startMachine({ workspace, image: await openImage(), payload }) };
  } catch (error) {
    await workspace[Symbol.asyncDispose]();
    throw error;
  }
}

/** The one machine of all stories in this process; a boot takes longer than most of them. It ends with the last test. */
export const sharedMachine = async (): Promise<Machine> => (await (shared ??= open())).machine;

after(async () => (await shared)?.workspace[Symbol.asyncDispose]());

/** Makes the machine as new for the next story: no agent and no state of it, no networks, no router, an empty journal. */
export async function renewMachine(machine: Machine): Promise<void> {
  await createPhone(machine).leave();
  await createEthernet(machine).unplug();
  await createHome(machine).stopRouter();
  await machine.must(
    `systemctl stop station-agent vstation-secrets 2>/dev/null
    rm -rf /var/lib/station-agent /var/lib/station-firmware /srv/stack /run/vstation/secrets /run/vstation/credentials
    nmcli radio wifi on
    nmcli -g UUID,TYPE connection show | sed -n 's/:802-11-wireless$//p' | xargs -r -n 1 nmcli connection delete >/dev/null
    iw reg set 00
    journalctl -q --rotate --vacuum-time=1s 2>/dev/null
    true`,
  );
}
