import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createClient } from '@station/agent/wifi/adapters/network-manager/client';
import { networkSettings } from '@station/agent/wifi/adapters/network-manager/profiles';
import { ssidFromText } from '@station/agent/core/wifi-network';
import { systemClock } from '@station/kit/clock';
import { createBus } from '@station/kit/message-bus';
import { likelySecurity, wifiPasswordProblem } from '@station/protocol/wifi-password';
import { needPackages } from '../../rig/debian.ts';
import { type RealNetworkManager, startNetworkManager } from '../../rig/network-manager.ts';
import { tryRun, waitFor } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';

const installer = join(import.meta.dirname, '../../../deploy/install.sh');

let manager: RealNetworkManager;
let workspace: Workspace;
before(async () => {
  await needPackages(['wpasupplicant']);
  workspace = await createWorkspace();
  manager = await startNetworkManager();
});
after(async () => {
  await manager[Symbol.asyncDispose]();
  await workspace[Symbol.asyncDispose]();
});

/** What a Wi-Fi scan of nmcli prints: `SSID-HEX:SECURITY`. */
type Scan = readonly (readonly [name: string, security: string])[];

/** Runs functions of install.sh with an answer file, and with an `nmcli` that sees `scan`. */
async function install(answers: Record<string, string>, commands: string, scan: Scan = []) {
  const folder = await workspace.subfolder(`install-${randomUUID()}`);
  const script = await readFile(installer, 'utf8');
  await writeFile(join(folder, 'lib.sh'), script.slice(0, script.lastIndexOf('main "$@"')));
  const lines = Object.entries(answers).map(([name, value]) => `${name}=${value}\n`);
  await writeFile(join(folder, 'answers'), lines.join(''));
  const seen = scan.map(([name, security]) => `${Buffer.from(name).toString('hex').toUpperCase()}:${security}\n`);
  await writeFile(join(folder, 'scan'), seen.join(''));
  await writeFile(join(folder, 'nmcli'), `#!/bin/sh\ncat ${folder}/scan\n`, { mode: 0o755 });
  const text = `. ${folder}/lib.sh
    export PATH="${folder}:$PATH" LC_ALL=C.UTF-8
    answers_file=${folder}/answers yes=1 json='' terminal='' step_name='' log=${folder}/log
    read_answers
    wifi_network=$(answer WIFI_SSID)
    ${commands}`;
  return tryRun('sh', ['-c', text]);
}

/** Everything that NetworkManager has read of the profile with this id, with its password. */
async function readBack(id: string): Promise<string[]> {
  const own = /^connection\.(id|uuid|timestamp|stable-id)|^GENERAL/;
  const read = async (): Promise<string[] | null> => {
    const shown = await manager.nmcli('--show-secrets', '--terse', 'connection', 'show', id);
    assert.equal(shown.exitCode, 0, shown.stderr);
    const lines = shown.stdout.split('\n').filter((line) => line !== '' && !own.test(line));
    // nmcli asks for the secrets in a second call, and leaves them out without a word when that one is not answered.
    const wantsPassword = lines.some((line) => /security\.key-mgmt:(wpa-psk|sae)$/.test(line));
    return wantsPassword && lines.includes('802-11-wireless-security.psk:') ? null : lines;
  };
  return waitFor(`the password of ${id}`, read);
}

type Network = { ssid: string; password: string | null; security: 'open' | 'owe' | 'wpa2' | 'wpa3'; isHidden: boolean };

async function byAgent({ ssid, ...network }: Network): Promise<string[]> {
  const bus = createBus({ address: manager.busAddress, rules: [], clock: systemClock, callMs: 60_000 });
  const client = createClient(bus);
  try {
    await client.add(networkSettings({ ...network, ssid: ssidFromText(ssid), uuid: randomUUID(), isPskOnly: false }));
  } finally {
    client[Symbol.dispose]();
    await bus[Symbol.asyncDispose]();
  }
  const id = `Station: ${ssid}`;
  const shown = await readBack(id);
  await manager.nmcli('connection', 'delete', id);
  return shown;
}

async function byInstaller(answers: Record<string, string>, scan: Scan): Promise<string[]> {
  const { stdout, stderr, exitCode } = await install(answers, 'look_for_wifi; wifi_keyfile', scan);
  assert.equal(exitCode, 0, stderr);
  const file = join(manager.profiles, 'station-wifi.nmconnection');
  await writeFile(file, stdout, { mode: 0o600 });
  const loaded = await manager.nmcli('connection', 'load', file);
  assert.equal(loaded.exitCode, 0, loaded.stderr + stdout);
  const shown = await readBack('station-wifi');
  await manager.nmcli('connection', 'delete', 'station-wifi');
  return shown;
}

describe('install.sh writes the profile that the setup page writes, as NetworkManager reads them:', () => {
  const wpa2 = { WIFI_SSID: 'Home', WIFI_PASSWORD: 'eight chars' };
  const home: Network = { ssid: 'Home', password: 'eight chars', security: 'wpa2', isHidden: false };
  const cases: [what: string, answers: Record<string, string>, scan: Scan, network: Network][] = [
    ['a network that is seen', wpa2, [['Home', 'WPA2']], home],
    ['one with WPA2 and WPA3', wpa2, [['Home', 'WPA2 WPA3']], home],
    ['one with WPA3 alone', wpa2, [['Home', 'WPA3']], { ...home, security: 'wpa3' }],
    ['one that is not seen: it may be hidden', wpa2, [['Homestead', 'WPA2']], { ...home, isHidden: true }],
    ['a hidden one', { ...wpa2, WIFI_HIDDEN: 'true' }, [['Home', 'WPA2']], { ...home, isHidden: true }],
    ['one that is said not to be hidden', { ...wpa2, WIFI_HIDDEN: 'false' }, [], home],
    ['WPA3 as answered', { ...wpa2, WIFI_SECURITY: 'wpa3' }, [], { ...home, security: 'wpa3', isHidden: true }],
    ['WPA2 as answered', { ...wpa2, WIFI_SECURITY: 'wpa2' }, [['Home', 'WPA3']], home],
    [
      'a password that only WPA3 has',
      { ...wpa2, WIFI_PASSWORD: 'salt5' },
      [],
      { ...home, password: 'salt5', security: 'wpa3', isHidden: true },
    ],
    [
      'a password of 100 characters',
      { ...wpa2, WIFI_PASSWORD: 'a'.repeat(100) },
      [['Home', 'WPA3']],
      { ...home, password: 'a'.repeat(100), security: 'wpa3' },
    ],
    ['a key', { ...wpa2, WIFI_PASSWORD: 'aB'.repeat(32) }, [['Home', 'WPA2']], { ...home, password: 'aB'.repeat(32) }],
    [
      'marks of files in a password',
      { ...wpa2, WIFI_PASSWORD: `  a\\s"b';#$(id)` },
      [['Home', 'WPA1 WPA2']],
      { ...home, password: `  a\\s"b';#$(id)` },
    ],
    [
      'umlauts in name and password',
      { WIFI_SSID: 'Bäckerei', WIFI_PASSWORD: 'pässwör' },
      [['Bäckerei', 'WPA2']],
      { ...home, ssid: 'Bäckerei', password: 'pässwör' },
    ],
    [
      'a name of 32 bytes',
      { ...wpa2, WIFI_SSID: 'ї'.repeat(16) },
      [['ї'.repeat(16), 'WPA2']],
      { ...home, ssid: 'ї'.repeat(16) },
    ],
    [
      'an open one',
      { WIFI_SSID: 'Free' },
      [['Free', '']],
      { ssid: 'Free', password: null, security: 'open', isHidden: false },
    ],
    [
      'an open one that is hidden',
      { WIFI_SSID: 'Free' },
      [],
      { ssid: 'Free', password: null, security: 'open', isHidden: true },
    ],
    [
      'an encrypted one without a password',
      { WIFI_SSID: 'Veiled' },
      [['Veiled', 'OWE']],
      { ssid: 'Veiled', password: null, security: 'owe', isHidden: false },
    ],
    [
      'an encrypted one without a password that is hidden',
      { WIFI_SSID: 'Veiled', WIFI_SECURITY: 'owe' },
      [],
      { ssid: 'Veiled', password: null, security: 'owe', isHidden: true },
    ],
    [
      'the one with a password of two with a name',
      wpa2,
      [
        ['Home', ''],
        ['Home', 'WPA3'],
      ],
      { ...home, security: 'wpa3' },
    ],
  ];
  for (const [what, answers, scan, network] of cases) {
    test(what, async () => {
      assert.deepEqual(await byInstaller(answers, scan), await byAgent(network));
    });
  }
});

describe('install.sh refuses a network', () => {
  const ask = (answers: Record<string, string>, scan: Scan = []) =>
    install(answers, 'wants_wifi=1 wifi_device=wlan0; ask_wifi; [ -z "$problems" ] || fail "$problems"', scan);
  const home = { WIFI_SSID: 'Home', WIFI_COUNTRY: 'DE' };
  const cases: [what: string, answers: Record<string, string>, scan: Scan, expected: RegExp][] = [
    [
      'with a password of seven characters for WPA2',
      { ...home, WIFI_PASSWORD: '1234567' },
      [['Home', 'WPA2']],
      /has wpa2, must have 8 to 63/,
    ],
    [
      'with one of 100',
      { ...home, WIFI_PASSWORD: 'a'.repeat(100) },
      [['Home', 'WPA2 WPA3']],
      /has wpa2, must have 8 to 63/,
    ],
    [
      'with such a one and WIFI_SECURITY',
      { WIFI_PASSWORD: '1234567', ...home, WIFI_SECURITY: 'wpa2' },
      [],
      /WIFI_PASSWORD must have 8 to 63/,
    ],
    ['without the password', home, [['Home', 'WPA3']], /has wpa3, is missing/],
    ['without the password and with WIFI_SECURITY', { ...home, WIFI_SECURITY: 'wpa3' }, [], /WIFI_PASSWORD is missing/],
    ['with a password of 129 bytes', { ...home, WIFI_PASSWORD: 'a'.repeat(129) }, [], /at most 128 bytes/],
    [
      'with a password and WIFI_SECURITY=open',
      { ...home, WIFI_SECURITY: 'open', WIFI_PASSWORD: '12345678' },
      [],
      /must be empty/,
    ],
    [
      'with a password and WIFI_SECURITY=owe',
      { ...home, WIFI_SECURITY: 'owe', WIFI_PASSWORD: '12345678' },
      [],
      /must be empty/,
    ],
    ['of a company', { ...home, WIFI_PASSWORD: '12345678' }, [['Home', 'WPA2 802.1X']], /asks each person for a name/],
    ['with WEP', { ...home, WIFI_PASSWORD: '12345678' }, [['Home', 'WEP']], /WEP, which is not safe/],
    ['with another security', { ...home, WIFI_SECURITY: 'wpa' }, [], /must be open, owe/],
  ];
  for (const [what, answers, scan, expected] of cases) {
    test(what, async () => {
      const { exitCode, stderr } = await ask(answers, scan);
      assert.equal(exitCode, 1);
      assert.match(stderr, expected);
      assert.doesNotMatch(stderr, /1234567|aaaa/);
    });
  }

  test('and takes what is right', async () => {
    for (const answers of [{ ...home, WIFI_PASSWORD: 'salt5' }, { ...home, WIFI_PASSWORD: '12345678' }, home]) {
      const { exitCode, stderr } = await ask(answers);
      assert.equal(exitCode, 0, stderr);
    }
  });
});

const passwords = [
  '1',
  'salt5',
  '1234567',
  '12345678',
  '~'.repeat(63),
  'g'.repeat(64),
  'aB'.repeat(32),
  'a'.repeat(65),
  'a'.repeat(100),
  'a'.repeat(128),
  'pässwrt',
  'äöü',
  'äöüß',
  'ä'.repeat(31),
  'ä'.repeat(32),
  ' '.repeat(8),
  `"'\\$(id);#`,
];

describe('the rule for passwords is the one of the real programs:', () => {
  const taken = (security: 'wpa2' | 'wpa3') =>
    passwords.filter((password) => wifiPasswordProblem(security, password, { mayBeOpen: false }) === null);

  test('NetworkManager, for WPA2 and WPA3', async () => {
    for (const [security, management] of [
      ['wpa2', 'wpa-psk'],
      ['wpa3', 'sae'],
    ] as const) {
      const kept: string[] = [];
      for (const password of passwords) {
        const profile = ['type', 'wifi', 'con-name', 'x', 'ssid', 'x', 'wifi-sec.key-mgmt', management];
        const { exitCode } = await manager.nmcli('connection', 'add', ...profile, 'wifi-sec.psk', password);
        if (exitCode === 0) kept.push(password);
      }
      assert.deepEqual(kept, taken(security), security);
    }
  });

  test('wpa_supplicant, for passphrases of WPA2', async () => {
    const kept: string[] = [];
    for (const password of [...passwords, '1234567\t']) {
      // By its argument: from standard input it reads 63 bytes and no more.
      const { exitCode } = await tryRun('wpa_passphrase', ['Home', password]);
      if (exitCode === 0) kept.push(password);
    }
    const isKey = (password: string) => /^[0-9a-fA-F]{64}$/.test(password);
    assert.deepEqual(
      kept,
      taken('wpa2').filter((password) => !isKey(password)),
    );
  });

  test('install.sh', async () => {
    const commands = passwords.map((_password, index) => `is_taken "$password${index}"`);
    const given = passwords.map((password, index) => `password${index}='${password.replaceAll("'", `'\\''`)}'`);
    const security = (kind: string) =>
      install(
        {},
        [
          ...given,
          `is_taken() { [ -n "$(wifi_password_problem '${kind}' "$1")" ] || printf '%s\\n' "$1"; }`,
          ...commands,
        ].join('\n'),
      );
    assert.deepEqual((await security('wpa2')).stdout.split('\n').slice(0, -1), taken('wpa2'));
    assert.deepEqual((await security('wpa3')).stdout.split('\n').slice(0, -1), taken('wpa3'));
    assert.deepEqual((await security('')).stdout.split('\n').slice(0, -1), taken('wpa3'));
  });

  test('what is tried where the security is not known is a profile that NetworkManager takes', () => {
    for (const password of passwords)
      assert.equal(wifiPasswordProblem(likelySecurity(password), password, { mayBeOpen: false }), null, password);
  });
});
