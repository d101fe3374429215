import type { Machine } from './machine.ts';

type RouterSecurity = 'open' | 'wpa2' | 'wpa3' | 'wpa2-wpa3';

export type RouterSettings = {
  /** 1–32 bytes; text is UTF-8. A name of its own for each kind of security: scan results stay in caches for a while. */
  ssid: string | Uint8Array;
  security: RouterSecurity;
  /** 8–63 characters; left out when open. */
  password?: string;
  /** Its beacons hide the name. Default: false. */
  isHidden?: boolean;
  /** Names resolve, and every one leads to a server that answers. Default: true. */
  hasInternet?: boolean;
  /** It hands out addresses. Default: true. */
  hasDhcp?: boolean;
  /** 1–11; default 6. */
  channel?: number;
};

/** The router of a home: access point, DHCP and DNS at 192.168.77.1, in a network namespace of its own. */
export type Home = {
  /** Resolves when it sends beacons. One at a time: the one before is stopped. */
  startRouter(settings: RouterSettings): Promise<void>;
  /** Switches off regularly, with a notice to its stations. Idempotent. */
  stopRouter(): Promise<void>;
  /** MAC addresses of the stations that have joined it. */
  stations(): Promise<string[]>;
};

const homeAddress = '192.168.77.1';
/** Where every name leads to behind a router with internet (RFC 5737, TEST-NET-3). */
export const internetAddress = '203.0.113.1';

/** Paths in the machine (guest/usr/local/sbin/vstation-radios). */
export const country = 'BZ';

const folder = '/run/vstation/home';

export function createHome(machine: Machine): Home {
  const stopRouter: Home['stopRouter'] = async () => {
    await machine.must(`${endPrograms(folder)}
      ip -n home addr flush dev wlan1
      ip -n home link set wlan1 down`);
  };
  return {
    startRouter: async (settings) => {
      await stopRouter();
      await machine.writeFile(`${folder}/hostapd.conf`, hostapdConfig(settings), { mode: 0o600 });
      await machine.must(`set -e
        ip -n home link set wlan1 up
        ip -n home addr replace ${homeAddress}/24 dev wlan1
        ip netns exec home hostapd -B -P ${folder}/hostapd.pid -f ${folder}/hostapd.log ${folder}/hostapd.conf
        until grep -q AP-ENABLED ${folder}/hostapd.log; do sleep 0.1; done
        ${routerServices({ namespace: 'home', device: 'wlan1', prefix: '192.168.77', folder, ...settings })}`);
    },
    stopRouter,
    stations: async () => {
      const dump = await machine.must('ip netns exec home iw dev wlan1 station dump');
      return [...dump.matchAll(/^Station (\S+)/gm)].map(([, mac]) => mac as string);
    },
  };
}

/** DHCP, DNS and "the internet" behind the address PREFIX.1 of a device: lines of a script. */
export function routerServices(options: {
  namespace: string;
  device: string;
  prefix: string;
  folder: string;
  hasInternet?: boolean;
  hasDhcp?: boolean;
}): string {
  const { namespace, device, prefix, folder: at, hasInternet = true, hasDhcp = true } = options;
  const inside = `ip netns exec ${namespace}`;
  const dnsmasq = [
    `--conf-file=/dev/null --user=root --interface=${device} --bind-interfaces --no-resolv --no-hosts`,
    `--pid-file=${at}/dnsmasq.pid --log-facility=${at}/dnsmasq.log`,
    ...(hasDhcp ? [`--no-ping --dhcp-range=${prefix}.50,${prefix}.99,1h --dhcp-leasefile=${at}/leases`] : []),
    ...(hasInternet ? [`--address=/#/${internetAddress}`] : []),
  ];
  const internet = hasInternet
    ? `ip -n ${namespace} addr replace ${internetAddress}/32 dev lo
       ${inside} busybox nc -ll -p 80 -e /usr/local/sbin/vstation-web internet >/dev/null 2>&1 &
       echo $! > ${at}/internet.pid`
    : `ip -n ${namespace} addr del ${internetAddress}/32 dev lo 2>/dev/null || true`;
  return `rm -f ${at}/leases
    ${inside} dnsmasq ${dnsmasq.join(' ')}
    ${internet}`;
}

/** Ends the programs whose process ids are in files of a folder, and waits for that: lines of a script. */
export const endPrograms = (at: string): string => `mkdir -p ${at}
  for file in ${at}/*.pid; do
    [ -e "$file" ] || continue
    pid=$(cat "$file")
    kill "$pid" 2>/dev/null && while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    rm -f "$file"
  done
  rm -f ${at}/*.log`;

function hostapdConfig({ ssid, security, password = '', isHidden = false, channel = 6 }: RouterSettings): string {
  if (security !== 'open' && password === '') throw new Error(`a ${security} router needs a password`);
  const lines = [
    'interface=wlan1',
    'driver=nl80211',
    `country_code=${country}`,
    'hw_mode=g',
    `channel=${channel}`,
    'ieee80211n=1',
    'wmm_enabled=1',
    `ctrl_interface=${folder}/hostapd`,
    `ssid2=${Buffer.from(ssid).toString('hex')}`,
    `ignore_broadcast_ssid=${isHidden ? 1 : 0}`,
    ...securityLines[security](password),
  ];
  return `${lines.join('\n')}\n`;
}

const rsn = ['wpa=2', 'rsn_pairwise=CCMP'];
const securityLines: Record<RouterSecurity, (password: string) => string[]> = {
  open: () => [],
  wpa2: (password) => [...rsn, 'wpa_key_mgmt=WPA-PSK', `wpa_passphrase=${password}`],
  wpa3: (password) => [
    ...rsn,
    'wpa_key_mgmt=SAE',
    'ieee80211w=2',
    'sae_require_mfp=1',
    'sae_pwe=2',
    `sae_password=${password}`,
  ],
  'wpa2-wpa3': (password) => [
    ...rsn,
    'wpa_key_mgmt=WPA-PSK SAE',
    'ieee80211w=1',
    'sae_require_mfp=1',
    'sae_pwe=2',
    `wpa_passphrase=${password}`,
    `sae_password=${password}`,
  ],
};
