import { country } from './home.ts';
import { quoted } from '../rig/guest.ts';
import type { Machine } from './machine.ts';

type SeenNetwork = { ssid: string; isSecured: boolean };

/** What the access point's DHCP server gave. */
type Lease = { ip: string; router: string | null; dns: string | null };

type DnsAnswer = {
  addresses: string[];
  /** What the server said instead (`REFUSED`, `NXDOMAIN`, …), `No answer` for an empty answer; null when there are addresses. */
  problem: string | null;
};

export type PageAnswer = {
  /** 0: a response came. Otherwise curl's exit code: 6 no such name, 7 refused, 28 timed out. */
  curlCode: number;
  /** 0 when none came. */
  status: number;
  /** Of the last response, after redirects. */
  url: string;
  /** Of the last response; lower-case names. */
  headers: Record<string, string>;
  body: string;
  seconds: number;
};

/** Somebody's phone: wpa_supplicant, a DHCP client, and curl as its browser, in a network namespace of its own. */
export type Phone = {
  /** Visible networks in reach on 2.4 GHz. */
  scan(): Promise<SeenNetwork[]>;
  /** Joins a network and takes an address; open when no password is given. @throws when that takes longer than 40 s. */
  join(ssid: string, options?: { password?: string; sae?: boolean }): Promise<Lease>;
  /** Leaves in order. Idempotent. */
  leave(): Promise<void>;
  /** Whether it is joined right now. */
  isJoined(): Promise<boolean>;
  /** A request; names are resolved by the DNS server of the lease. A form is sent as POST. */
  fetch(
    url: string,
    options?: { follow?: boolean; form?: Record<string, string>; headers?: Record<string, string>; timeoutMs?: number },
  ): Promise<PageAnswer>;
  dnsLookup(name: string, type: 'A' | 'AAAA'): Promise<DnsAnswer>;
};

const folder = '/run/vstation/phone';
/** All channels of 2.4 GHz: the radio could do 5 GHz, too, which would take long. */
const frequencies = [2412, 2417, 2422, 2427, 2432, 2437, 2442, 2447, 2452, 2457, 2462].join(' ');
const inside = 'ip netns exec phone';

const dhcpScript = `#!/bin/sh
[ "$1" = bound ] || [ "$1" = renew ] || exit 0
ip addr flush dev "$interface"
ip addr add "$ip/$mask" dev "$interface"
[ -z "$router" ] || ip route replace default via "\${router%% *}" dev "$interface"
: > /etc/netns/phone/resolv.conf
[ -z "$dns" ] || echo "nameserver \${dns%% *}" > /etc/netns/phone/resolv.conf
echo "$ip \${router%% *}- \${dns%% *}-" > ${folder}/lease
`;

export function createPhone(machine: Machine): Phone {
  const leave: Phone['leave'] = async () => {
    await machine.must(`mkdir -p ${folder}
      if [ -e ${folder}/supplicant.pid ]; then
        pid=$(cat ${folder}/supplicant.pid)
        kill "$pid" 2>/dev/null
        while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
      fi
      rm -f ${folder}/supplicant.* ${folder}/lease
      : > /etc/netns/phone/resolv.conf
      ip -n phone addr flush dev wlan2`);
  };
  return {
    scan: async () => {
      const text = await machine.must(
        `ip -n phone link set wlan2 up; for try in 1 2 3 4 5; do ${inside} iw dev wlan2 scan freq ${frequencies} && exit; sleep 0.5; done; exit 1`,
      );
      return parseScan(text);
    },
    join: async (ssid, options = {}) => {
      await leave();
      await machine.writeFile(`${folder}/supplicant.conf`, supplicantConfig(ssid, options), { mode: 0o600 });
      await machine.writeFile(`${folder}/dhcp-script`, dhcpScript, { mode: 0o755 });
      const lease = await machine.must(
        `set -e
        ${inside} wpa_supplicant -B -Dnl80211 -iwlan2 -c${folder}/supplicant.conf -P${folder}/supplicant.pid -f${folder}/supplicant.log
        until grep -q CTRL-EVENT-CONNECTED ${folder}/supplicant.log; do sleep 0.1; done
        ${inside} busybox udhcpc -i wlan2 -n -q -f -t 10 -T 1 -s ${folder}/dhcp-script >${folder}/dhcp.log 2>&1
        cat ${folder}/lease`,
        { timeoutMs: 40_000 },
      );
      const [ip = '', router = '', dns = ''] = lease.split(' ').map((word) => word.replace(/-$/, ''));
      return { ip, router: router === '' ? null : router, dns: dns === '' ? null : dns };
    },
    leave,
    isJoined: async () => {
      const { stdout } = await machine.run(`${inside} iw dev wlan2 link`);
      return stdout.startsWith('Connected to');
    },
    fetch: (url, options) => fetchPage(machine, url, options),
    dnsLookup: async (name, type) => {
      const { stdout, stderr } = await machine.run(
        `${inside} busybox nslookup -type=${type.toLowerCase()} ${quoted(name)}`,
      );
      // The first address is the server's own.
      const answer = stdout.slice(stdout.indexOf('\n\n'));
      const addresses = [...answer.matchAll(/^Address(?: \d+)?:\s*(\S+)/gm)].map(([, address]) => address as string);
      const problem = /can't find [^\n]*: ([^\n]+)/i.exec(`${stdout}\n${stderr}`)?.[1] ?? null;
      return { addresses, problem: addresses.length > 0 ? null : (problem ?? stderr.trim()) };
    },
  };
}

function supplicantConfig(ssid: string, { password, sae = false }: { password?: string; sae?: boolean }): string {
  const security =
    password === undefined
      ? ['key_mgmt=NONE']
      : sae
        ? ['key_mgmt=SAE', 'ieee80211w=2', `sae_password="${password}"`]
        : ['key_mgmt=WPA-PSK', `psk="${password}"`];
  const network = [`ssid=${Buffer.from(ssid).toString('hex')}`, 'scan_ssid=1', `scan_freq=${frequencies}`, ...security];
  return [`country=${country}`, `ctrl_interface=${folder}/control`, 'sae_pwe=2', 'network={', ...network, '}', ''].join(
    '\n',
  );
}

async function fetchPage(
  machine: Machine,
  url: string,
  { follow = false, form, headers = {}, timeoutMs = 15_000 }: Parameters<Phone['fetch']>[1] = {},
): Promise<PageAnswer> {
  const args = ['-sS', '-m', String(timeoutMs / 1000), ...(follow ? ['-L'] : [])];
  for (const [name, value] of Object.entries(headers)) args.push('-H', quoted(`${name}: ${value}`));
  // Not as an argument: tests search command lines for secrets.
  const data = form === undefined ? null : new URLSearchParams(form).toString();
  const { stdout, code } = await machine.run(
    `at=$(mktemp -d)
    ${data === null ? '' : `echo ${Buffer.from(data).toString('base64')} | base64 -d > $at/form`}
    ${inside} curl ${args.join(' ')} ${data === null ? '' : '--data @$at/form'} -D $at/headers -o $at/body -w '%{http_code} %{time_total} %{url_effective}\\n' ${quoted(url)} 2>$at/errors
    code=$?
    touch $at/headers $at/body
    base64 -w0 $at/headers; echo
    base64 -w0 $at/body; echo
    rm -r $at
    exit $code`,
    { timeoutMs: timeoutMs + 5000 },
  );
  const [summary = '', head = '', body = ''] = stdout.split('\n');
  const [status = '0', seconds = '0', last = url] = summary.split(' ');
  return {
    curlCode: code,
    status: Number(status),
    url: last,
    headers: lastHeaders(Buffer.from(head, 'base64').toString()),
    body: Buffer.from(body, 'base64').toString(),
    seconds: Number(seconds),
  };
}

/** curl writes the headers of every response on the way, with an empty line between. */
function lastHeaders(text: string): Record<string, string> {
  const last =
    text
      .trim()
      .split(/\r?\n\r?\n/)
      .at(-1) ?? '';
  const pairs = last.split(/\r?\n/).flatMap((line) => {
    const at = line.indexOf(':');
    return at < 0 ? [] : [[line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()] as const];
  });
  return Object.fromEntries(pairs);
}

/** Of `iw scan`: one block an access point, names with bytes beyond ASCII as `\xNN`. */
function parseScan(text: string): SeenNetwork[] {
  return text
    .split(/^BSS /m)
    .slice(1)
    .flatMap((block) => {
      const name = /^\tSSID: (.+)$/m.exec(block)?.[1];
      if (name === undefined || /^(\\x00)+$/.test(name)) return [];
      const bytes = Buffer.from(
        name.replaceAll(/\\x([0-9a-f]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
        'latin1',
      );
      return [{ ssid: bytes.toString(), isSecured: /^\tRSN:|^\tWPA:/m.test(block) }];
    });
}
