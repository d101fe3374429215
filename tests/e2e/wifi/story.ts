import { installAgent, until, type EventLine, type StationAgent } from '../../vstation/agent.ts';
import { createEthernet, type Ethernet } from '../../vstation/ethernet.ts';
import { createHome, type Home } from '../../vstation/home.ts';
import type { Machine } from '../../vstation/machine.ts';
import { createPhone, type PageAnswer, type Phone } from '../../vstation/phone.ts';
import { renewMachine, sharedMachine } from './shared-machine.ts';

/** A station at home: the machine with the agent installed but not started; the router, the phone, the cable. */
export type Story = {
  machine: Machine;
  agent: StationAgent;
  home: Home;
  phone: Phone;
  ethernet: Ethernet;
  /** Milliseconds of the station's clock. */
  now(): Promise<number>;
  /** Waits for the hotspot with its page, as an open network that the phone sees; ms until then. */
  hotspotUp(timeoutMs?: number): Promise<number>;
  /** Waits until the station is in a network, reaches the internet, and its proxy runs; ms until then. */
  online(ssid: string, timeoutMs?: number): Promise<number>;
  /** Waits for an event that is not older than `afterMs` of the station's clock. */
  event(name: string, afterMs: number, timeoutMs?: number): Promise<EventLine>;
  /** The phone joins the hotspot, and asks until it has the page. */
  pageOnPhone(): Promise<PageAnswer>;
  /** Fills in the page's form and confirms its warning; the phone must be in the hotspot. A station that was in a network needs its code. */
  submit(form: { ssid: string; password?: string; isTyped?: boolean; code?: string }): Promise<PageAnswer>;
  /** Saved Wi-Fi profiles but the hotspot's: name, id, and a hash of the file. */
  profiles(): Promise<string[]>;
  /** Removes all saved Wi-Fi networks, as a new station has none; the agent must be stopped. */
  forgetNetworks(): Promise<void>;
};

export const portalUrl = 'http://192.0.2.1/';
export const stationCode = 'VSTAT-23456';
export const hexOf = (ssid: string): string => Buffer.from(ssid).toString('hex');

export async function createStory(env: Record<string, string> = {}): Promise<Story> {
  const machine = await sharedMachine();
  await renewMachine(machine);
  return describeStory(machine, await installAgent(machine, { STATION_CODE: stationCode, ...env }));
}

function describeStory(machine: Machine, agent: StationAgent): Story {
  const phone = createPhone(machine);
  const whatHappened = async (): Promise<string> => (await machine.journal()).split('\n').slice(-60).join('\n');
  const waiting = (timeoutMs: number) => ({ timeoutMs, describe: whatHappened });
  return {
    machine,
    agent,
    home: createHome(machine),
    phone,
    ethernet: createEthernet(machine),
    now: async () => Number(await machine.must('date +%s%3N')),
    hotspotUp: async (timeoutMs = 120_000) => {
      const isUp = async (): Promise<boolean> => {
        const status = await agent.wifiStatus();
        return status.watchdog.state === 'HOTSPOT_ACTIVE' && status.hotspot.active && (await isPageOpen(machine));
      };
      return (await until('the hotspot and its page', isUp, waiting(timeoutMs))).ms;
    },
    online: async (ssid, timeoutMs = 120_000) => {
      const isOnline = async (): Promise<boolean> => {
        const { ssid: joined, mode, connectivity, watchdog } = await agent.wifiStatus();
        const isThere = watchdog.state === 'CONNECTED' && mode === 'client' && joined === ssid;
        return isThere && connectivity === 'full' && (await agent.isProxyRunning());
      };
      return (await until(`the station to be online in ${ssid}`, isOnline, waiting(timeoutMs))).ms;
    },
    event: async (name, afterMs, timeoutMs = 90_000) => {
      const find = async (): Promise<EventLine | undefined> =>
        (await agent.events(afterMs)).find((line) => line.event === name);
      return (await until(`event ${name}`, find, waiting(timeoutMs))).value;
    },
    pageOnPhone: async () => {
      const heard: number[] = [];
      await phone.join(agent.hotspot);
      const ask = async (): Promise<PageAnswer | null> => {
        const page = await phone.fetch(portalUrl, { headers: browser });
        heard.push(page.curlCode);
        // The proxy may answer in its place for a moment.
        return page.status === 200 && page.body.includes(`action="/join"`) ? page : null;
      };
      const describe = async (): Promise<string> =>
        `curl ended with ${heard.join(', ')}; joined: ${await phone.isJoined()}\n${await whatHappened()}`;
      return (await until('the page on the phone', ask, { timeoutMs: 60_000, describe })).value;
    },
    submit: async ({ ssid, password = '', isTyped = false, code = '' }) => {
      const chosen: Record<string, string> = isTyped
        ? { ssid: 'other', name: ssid, security: password === '' ? 'open' : 'auto' }
        : { ssid: hexOf(ssid) };
      const form = { ...chosen, password, code, confirm: 'yes', lang: 'en' };
      return phone.fetch(`${portalUrl}join`, { form, headers: browser });
    },
    profiles: async () => {
      const files = await machine.must('cd /etc/NetworkManager/system-connections && sha256sum * 2>/dev/null || true');
      return files === '' ? [] : files.split('\n').sort();
    },
    forgetNetworks: async () => {
      await machine.must(`nmcli -g UUID,TYPE connection show | sed -n 's/:802-11-wireless$//p' | while read -r id; do
        nmcli connection delete "$id" >/dev/null || exit 1
      done`);
    },
  };
}

/** Request headers of a person's browser. */
export const browser = { Accept: 'text/html,application/xhtml+xml', 'Accept-Language': 'en' };

async function isPageOpen(machine: Machine): Promise<boolean> {
  const { stdout } = await machine.run(`curl -s -m 5 ${portalUrl}state`, { timeoutMs: 10_000 });
  return stdout === 'ready' || stdout === 'joining';
}

/** Searches the arguments and environment of every process for words, about once a second. */
export async function watchForSecrets(
  machine: Machine,
  words: readonly string[],
): Promise<{ found(): Promise<string[]> }> {
  const at = '/run/vstation/secrets';
  await machine.writeFile(`${at}/words`, words.map((word) => `${word}\n`).join(''), { mode: 0o600 });
  await machine.writeFile(
    `${at}/watch`,
    `#!/bin/sh
    while :; do
      for file in $(grep -lsaF -f ${at}/words /proc/[0-9]*/cmdline /proc/[0-9]*/environ); do
        { echo "$file: "; tr '\\0' ' ' < "\${file%/*}/cmdline" | head -c 200; echo; } >> ${at}/found 2>/dev/null
      done
      echo >> ${at}/looks
      sleep 1
    done
    `,
    { mode: 0o755 },
  );
  await machine.must(`touch ${at}/found; systemd-run -q --unit=vstation-secrets ${at}/watch`);
  return {
    found: async () => {
      const looks = Number(await machine.must(`wc -l < ${at}/looks`));
      if (looks < 10) throw new Error(`looked only ${looks} times`);
      const processes = (await machine.readFile(`${at}/found`)) ?? '';
      const journal = await machine.run(`journalctl --no-pager -a -o export | grep -aF -f ${at}/words | head -c 2000`);
      // What was accepted by the backend has no business with the agent any more.
      const state = await machine.run(
        `grep -rlaF -f ${at}/words /var/lib/station-agent /var/log /tmp /opt/station-agent/.env`,
      );
      return [processes, journal.stdout, state.stdout].map((text) => text.trim()).filter((text) => text !== '');
    },
  };
}
